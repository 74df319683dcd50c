// Gives the precompiled header a target to belong to.
int main() {
  return 0;
}
