/** A commit hook that changes only what is staged: its bytes become a proposal like those of a hook that changes the file. */
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { lockOf } from './ends.js';
import { scene, whole, type Scene } from './support.js';

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

test('rebase writes what the hook staged, reviews it and commits it; the hook is met once', async () => {
  const rule = {
    name: 'a',
    match: { contains: '- a.js' },
    answer: whole({ 'a.js': 'const a = 2;\n' }),
  };
  const s = (open = await scene({ 'a.js': 'const a = 1;\n' }, [rule]));
  const hook = join(s.repo, '.git/hooks/pre-commit');
  const lines = [
    '#!/bin/sh',
    'grep -q checked a.js && exit 0',
    `h=$( (cat a.js; echo '// checked') | git hash-object -w --stdin)`,
    'git update-index --cacheinfo "100644,$h,a.js"',
  ];
  writeFileSync(hook, `${lines.join('\n')}\n`);
  chmodSync(hook, 0o755);
  await s.worker();
  const run = await s.start(
    'job.md',
    '---\ntarget_files: [a.js]\ncommit: true\n---\n# Two\n\nTwo, please.\n',
  );
  await s.settle(run);
  await s.answer(run, 'approve');
  const stopped = (await s.settle(run)).status.decision;
  expect(stopped).toMatchObject({ reason: 'hook_changed' });
  expect(s.read('a.js')).toBe('const a = 2;\n');

  await s.answer(run, 'rebase');
  const review = (await s.settle(run)).status.decision;
  expect(review).toMatchObject({ reason: 'approval', files: [{ path: 'a.js' }] });
  await s.answer(run, 'approve');
  expect(await s.end(run)).toMatchObject({ outcome: 'committed', files: ['a.js'] });
  expect(s.read('a.js')).toBe('const a = 2;\n// checked\n');
  expect(s.git('show', 'HEAD:a.js')).toBe('const a = 2;\n// checked\n');
  expect(s.git('rev-list', '--count', 'HEAD').trim()).toBe('2');
  expect(s.git('status', '--porcelain').trim()).toBe('?? job.md');
  expect(await lockOf(s)).toBeNull();
});
