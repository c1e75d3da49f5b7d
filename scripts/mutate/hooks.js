/** Node's loader hook for the tests outside of jest. */
const GLOBALS = new URL('./globals.js', import.meta.url).href;

export const resolve = (specifier, context, next) =>
  specifier === '@jest/globals' ? { url: GLOBALS, shortCircuit: true } : next(specifier, context);
