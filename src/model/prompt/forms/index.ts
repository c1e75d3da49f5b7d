import type { Format } from '../../../shared/formats.js';
import type { Form } from './form.js';
import { searchReplaceForm } from './search-replace.js';
import { structuredEditForm } from './structured-edit.js';
import { unifiedDiffForm } from './unified-diff.js';
import { wholeFileForm } from './whole-file.js';

export const FORMS: Readonly<Record<Format, Form>> = {
  'whole-file': wholeFileForm,
  'unified-diff': unifiedDiffForm,
  'structured-edit': structuredEditForm,
  'search-replace': searchReplaceForm,
};
