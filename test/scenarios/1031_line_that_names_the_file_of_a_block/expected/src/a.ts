const v = 1;
const w = 2;
