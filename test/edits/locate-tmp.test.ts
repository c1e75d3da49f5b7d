import { test } from '@jest/globals';
import { applyAnswer } from '/work/main/src/edits/outcome.js';
test('x', () => {
  const files = new Map([['f', { bytes: new TextEncoder().encode('a\nb\n\n') }]]);
  const d = '--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n-a\n+A\n b\n \n';
  for (const [answer, o] of [[d, { requireMarker: false }], [d + 'EMEND-COMPLETE n 1 1\n', { requireMarker: true, nonce: 'n' }]] as const)
    console.log(JSON.stringify(applyAnswer({ format: 'unified-diff', answer, files, options: o }), (k, v) => v instanceof Map ? [...v] : v));
});
