function f() {
  if (a) {
    b();
  }
}
