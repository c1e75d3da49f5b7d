/** All dialects that a response may be written in. A new one is a file of its own and a line here. */
import type { AnswerFormat } from '../../shared/formats.js';
import type { Dialect } from '../edit.js';
import { invalid, unread } from './reader.js';
import { beginPatch } from './begin-patch.js';
import { searchBlocks } from './search-blocks.js';
import { searchReplace } from './search-replace.js';
import { stringReplace } from './string-replace.js';
import { structuredEdit } from './structured-edit/index.js';
import { unifiedDiff } from './unified-diff/index.js';
import { wholeFile } from './whole-file.js';
import { xmlCall } from './xml-call.js';

export const DIALECTS: Readonly<Record<AnswerFormat, Dialect>> = {
  'whole-file': wholeFile,
  'unified-diff': unifiedDiff,
  'structured-edit': structuredEdit,
  'search-replace': searchReplace,
  'search-blocks': searchBlocks,
  'begin-patch': beginPatch,
  'string-replace': stringReplace,
  'xml-call': xmlCall,
};

/**
 * Returns what reads calls of another tool (`format`: how they are written) whose text is in a dialect, which each of their edits must be of. A
 * model that was asked for blocks may send them in the tags of its own tool, which name the file. Null: the format is not one of calls.
 */
export const callsIn = (format: AnswerFormat, { rules }: Dialect): Dialect | null => {
  if (format !== 'xml-call' && format !== 'string-replace') return null;
  return {
    rules,
    parse: (body, context) => {
      const response = DIALECTS[format].parse(body, context);
      const isOwn = response.edits.every(({ hint }) => hint.rules === rules);
      return isOwn ? response : unread(invalid('no_edits', 'The calls are in another format.'));
    },
  };
};
