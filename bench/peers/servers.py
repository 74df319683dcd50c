"""Starts the servers we are measured beside: each alone, on a port of its own on this machine only, with
fresh data under a folder that is removed afterwards, and stopped by the process it was started as."""
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import time

START_TIMEOUT = 60


def free_port():
    """Below the range the kernel gives to clients, so that no connection takes it first."""
    for _ in range(1000):
        port = random.randrange(20000, 30000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise RuntimeError("no free port between 20000 and 30000")


def answers(port):
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Folder:
    """No server at all: a queue inside the client, which gets an empty folder."""
    needs = ()
    shared = False  # whether one instance serves the whole run, frozen while others are measured

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.where = str(folder)
        self.environment = dict(os.environ)

    def start(self):
        self.folder.mkdir(parents=True, exist_ok=True)

    def stop(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def freeze(self):
        pass

    def thaw(self):
        pass


class Server(Folder):
    """A server process; subclasses say how it is called."""
    stop_signal = signal.SIGKILL  # its data is thrown away

    def __init__(self, folder):
        super().__init__(folder)
        self.port = free_port()
        self.where = str(self.port)
        self.process = None
        self.user = None

    def command(self):
        raise NotImplementedError

    def is_ready(self):
        return answers(self.port)

    def start(self):
        super().start()
        with open(self.folder / "output", "wb") as output:
            self.process = subprocess.Popen(
                self.command(), stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=self.folder,
                env=self.environment, user=self.user, start_new_session=True)
        deadline = time.monotonic() + START_TIMEOUT
        while not self.is_ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                said = (self.folder / "output").read_text(errors="replace")[-500:]
                self.stop()
                raise RuntimeError(f"{self.command()[0]} did not get ready: {said}")
            time.sleep(0.02)

    def signal_group(self, number):
        """Everything the server started is in its process group."""
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass

    def stop(self):
        if self.process is not None:
            self.signal_group(signal.SIGCONT)
            self.process.send_signal(self.stop_signal)
            try:
                self.process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                pass
            self.signal_group(signal.SIGKILL)
            self.process.wait()
            self.process = None
        super().stop()

    def freeze(self):
        self.signal_group(signal.SIGSTOP)

    def thaw(self):
        self.signal_group(signal.SIGCONT)


class Redis(Server):
    needs = ("redis-server",)
    appendfsync = None

    def command(self):
        return ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder),
                "--appendonly", "yes", "--appendfsync", self.appendfsync, "--save", ""]


class RedisAlways(Redis):
    appendfsync = "always"


class RedisEverySecond(Redis):
    appendfsync = "everysec"


class Beanstalkd(Server):
    needs = ("beanstalkd",)
    fsync_every = None  # milliseconds; 0: every command

    def command(self):
        return ["beanstalkd", "-l", "127.0.0.1", "-p", str(self.port), "-b", str(self.folder),
                f"-f{self.fsync_every}"]


class BeanstalkdF0(Beanstalkd):
    fsync_every = 0


class BeanstalkdF50(Beanstalkd):
    fsync_every = 50


class Nats(Server):
    needs = ("nats-server",)

    def command(self):
        settings = self.folder / "nats.conf"
        settings.write_text(f'listen: "127.0.0.1:{self.port}"\n'
                            f'jetstream {{ store_dir: "{self.folder}", max_mem: 1G, max_file: 30G }}\n')
        return ["nats-server", "-c", str(settings)]


class Ceiling(Server):
    """Our own bound; `program` and `room` (bytes of log) are set by the runner."""
    program = None
    room = 0

    def command(self):
        return [str(self.program), str(self.port), str(self.folder / "log"), str(self.room)]


class Dlo(Server):
    """Our own server; `program` is set by the runner."""
    program = None

    def command(self):
        return [str(self.program), "serve", "--data", str(self.folder / "office"), "--listen", f"127.0.0.1:{self.port}"]


class Postgres(Server):
    """A cluster made once and copied for each start: initdb takes seconds. It refuses to run as root."""
    needs = ("pg_config",)
    stop_signal = signal.SIGQUIT
    template = None  # the data folder that initdb made

    def __init__(self, folder):
        super().__init__(folder)
        self.user = "postgres" if os.getuid() == 0 else None
        found = subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True, check=True)
        self.programs = pathlib.Path(found.stdout.strip())

    def make_template(self):
        home = self.folder.parent / "postgres-template"
        home.mkdir()
        if self.user:
            shutil.chown(home, self.user)
        subprocess.run([self.programs / "initdb", "-D", home / "data", "-A", "trust", "-U", "bench",
                        "--no-locale", "-E", "UTF8"],
                       check=True, capture_output=True, user=self.user, cwd=home)
        Postgres.template = home / "data"

    def start(self):
        if Postgres.template is None:
            self.make_template()
        super().start()

    def is_ready(self):
        """It accepts connections before it can serve them."""
        ask = [self.programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        return subprocess.run(ask, check=False).returncode == 0

    def command(self):
        data = self.folder / "data"
        if not data.exists():
            if self.user:
                shutil.chown(self.folder, self.user)
            subprocess.run(["cp", "-a", Postgres.template, data], check=True)
        settings = {"port": self.port, "listen_addresses": "127.0.0.1",
                    "unix_socket_directories": self.folder, "shared_buffers": "512MB",
                    "max_wal_size": "4GB", "max_connections": 100}
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        return [str(self.programs / "postgres"), "-D", str(data), *options]


class Rabbitmq(Server):
    """A private node with an epmd of its own. It takes seconds to start, so one serves the whole run."""
    home = pathlib.Path("/usr/lib/rabbitmq/bin")
    needs = (str(home / "rabbitmq-server"), "epmd")
    shared = True

    def __init__(self, folder):
        super().__init__(folder)
        self.epmd = None
        self.epmd_port = free_port()
        folder = self.folder
        self.environment |= {
            "HOME": str(folder / "home"), "RABBITMQ_NODENAME": f"bench{self.port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1", "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(free_port()), "ERL_EPMD_PORT": str(self.epmd_port),
            "ERL_EPMD_ADDRESS": "127.0.0.1", "RABBITMQ_MNESIA_BASE": str(folder / "mnesia"),
            "RABBITMQ_LOG_BASE": str(folder / "log"), "RABBITMQ_PID_FILE": str(folder / "pid"),
            "RABBITMQ_CONF_ENV_FILE": str(folder / "none"), "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
            "RABBITMQ_GENERATED_CONFIG_DIR": str(folder / "generated"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
            "RABBITMQCTL": str(self.home / "rabbitmqctl"),
        }

    def command(self):
        return [str(self.home / "rabbitmq-server")]

    def start(self):
        self.epmd = subprocess.Popen(["epmd", "-port", str(self.epmd_port), "-address", "127.0.0.1"])
        for name in ("home", "mnesia", "log"):
            (self.folder / name).mkdir(parents=True)
        (self.folder / "plugins").write_text("[rabbitmq_shovel].\n")
        (self.folder / "rabbitmq.conf").write_text("disk_free_limit.absolute = 1GB\n")
        cookie = self.folder / "home" / ".erlang.cookie"
        cookie.write_text("bench")
        cookie.chmod(0o400)
        super().start()

    def stop(self):
        super().stop()
        if self.epmd is not None:
            self.epmd.kill()
            self.epmd.wait()
            self.epmd = None
