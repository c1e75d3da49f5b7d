/** All dialects that a response may be written in. A new one is a file of its own and a line here. */
import type { AnswerFormat } from '../../shared/formats.js';
import type { Dialect } from '../edit.js';
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
