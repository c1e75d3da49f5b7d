export const COLORS = [
  'red',
  'green',
  'yellow',
];
