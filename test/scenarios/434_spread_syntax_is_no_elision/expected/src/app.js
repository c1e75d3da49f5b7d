const a1 = 1;
const a2 = 2;
const a3 = 3;
const a4 = 4;
const a5 = 5;
  ...rest,
const a29 = 29;
const a30 = 30;
