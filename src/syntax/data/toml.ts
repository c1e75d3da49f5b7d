/** Errors of TOML. The parser reports the first one. */
import { parse, TomlError } from 'smol-toml';
import type { DataFault } from '../../edits/index.js';

/** Returns the first error of `result`; none if `base` has one itself. */
export const tomlFaults = (base: string | null, result: string): readonly DataFault[] => {
  const fault = faultIn(result);
  if (fault === null || (base !== null && faultIn(base) !== null)) return [];
  return [fault];
};

const faultIn = (text: string): DataFault | null => {
  try {
    parse(text, { integersAsBigInt: 'asNeeded' });
    return null;
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    // The first line of the message says what is wrong; a picture of the place follows.
    const [sentence = ''] = error.message.split('\n');
    return { line: error.line - 1, what: sentence.replace(/^Invalid TOML document: /, '') };
  }
};
