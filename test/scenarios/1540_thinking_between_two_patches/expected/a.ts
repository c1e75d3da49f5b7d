export const limit = 20;
