import { expect, test } from '@jest/globals';
import { applyAnswer } from '../../src/edits/index.js';

const base = new TextEncoder().encode('one\ntwo\n\nthree\n\n');
const diff = '--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n \n';
const files = new Map([['f', { bytes: base }]]);

test.each([
  [
    'with its marker',
    `${diff}EMEND-COMPLETE 0123456789abcdef0123 1 1\n`,
    '0123456789abcdef0123',
    true,
  ],
  ['without a marker', diff, undefined, false],
  ['fenced', `\`\`\`diff\n${diff}\`\`\`\n`, undefined, false],
])(
  'a diff whose last context line is blank, %s, fits exactly',
  (_what, answer, nonce, requireMarker) => {
    const outcome = applyAnswer({
      format: 'unified-diff',
      answer,
      files,
      options: { requireMarker, ...(nonce === undefined ? {} : { nonce }) },
    });
    expect(outcome).toMatchObject({ outcome: 'edited', tolerances: [] });
  },
);
