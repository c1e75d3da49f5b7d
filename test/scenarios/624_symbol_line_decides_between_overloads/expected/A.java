class A {
  int m() { return 0; }
  int m(int a) { return -a; }
}
class B {
  int m() { return 1; }
}
