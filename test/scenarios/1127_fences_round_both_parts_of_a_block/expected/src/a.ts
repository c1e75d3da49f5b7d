const a = 2;
const b = 2;
