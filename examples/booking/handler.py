#!/usr/bin/env python3
"""The consumer of the example: takes each event by POST. Has a fault until the file named second is there."""
import http.server
import json
import os
import sys


class Consumer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if event.get("Amount", 0) > 1000 and not os.path.exists(sys.argv[2]):
            problem = {"type": "about:blank", "title": "LedgerError", "detail": "the ledger takes no amount above 1000"}
            return self.answer(500, "application/problem+json", json.dumps(problem))
        return self.answer(200, "text/plain", "")

    def answer(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Consumer)
with open(sys.argv[1], "w", encoding="utf-8") as port:
    port.write(str(server.server_port))
server.serve_forever()
