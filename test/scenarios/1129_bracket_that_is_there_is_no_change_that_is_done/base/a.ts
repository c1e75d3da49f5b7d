{
  open(2);
  run();
}
