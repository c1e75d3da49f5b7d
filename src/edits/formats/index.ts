/** The module of each format. */
import type { AnswerFormat } from '../../shared/formats.js';
import { beginPatch } from './begin-patch/index.js';
import { searchBlocks } from './search-replace/search-blocks.js';
import { searchReplace } from './search-replace/index.js';
import { stringReplace } from './string-replace/index.js';
import { structuredEdit } from './structured-edit/index.js';
import type { FormatModule } from '../types.js';
import { unifiedDiff } from './unified-diff/index.js';
import { wholeFile } from './whole-file.js';

export const MODULES: Readonly<Record<AnswerFormat, FormatModule>> = {
  'whole-file': wholeFile,
  'unified-diff': unifiedDiff,
  'structured-edit': structuredEdit,
  'search-replace': searchReplace,
  'search-blocks': searchBlocks,
  'begin-patch': beginPatch,
  'string-replace': stringReplace,
};
