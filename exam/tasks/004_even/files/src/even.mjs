/** True for even numbers. */
export const isEven = (n) => n % 2 === 1;

/** True for odd numbers. */
export const isOdd = (n) => !isEven(n);
