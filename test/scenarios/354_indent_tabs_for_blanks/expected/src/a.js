function f() {
  if (a) {
    c();
    b();
  }
}
