function a() {
  function inner() {}
}
