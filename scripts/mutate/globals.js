/** Stands in for `@jest/globals`, which works inside of jest only: jest's own `describe` and `test` collect, its `expect` and `spyOn` work anywhere. */
import { createRequire } from 'node:module';

/** Jest installs its parts. */
const fromJest = createRequire(createRequire(import.meta.url).resolve('jest'));
export const { describe, test, beforeAll, afterAll, beforeEach, afterEach, getState } =
  fromJest('jest-circus');
export const { expect } = fromJest('expect');
const { spyOn } = fromJest('jest-mock');
export const jest = { spyOn };
