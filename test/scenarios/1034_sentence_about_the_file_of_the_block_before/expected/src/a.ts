const v = 2;
const w = 2;
