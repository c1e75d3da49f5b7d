/** Opens the stores and the server for a command and closes them after it, whatever happens. */
import { openEmend } from '../client/open.js';
import type { Emend } from '../client/types.js';
import type { Io } from './io.js';

export const withEmend = async <T>(io: Io, use: (emend: Emend) => Promise<T>): Promise<T> => {
  // Commands that look or answer make no home.
  const emend = await openEmend({ env: io.env, existing: true });
  try {
    return await use(emend);
  } finally {
    await emend.close();
  }
};
