export const a = 1;
  run(a);
  // - two
