/** A commit hook that changes what is staged, or changes the file and fails: its bytes become a proposal like any other. */
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

const HOOKS = [
  {
    name: 'stages other bytes and leaves the file alone',
    lines: [
      `h=$( (cat a.js; echo '// checked') | git hash-object -w --stdin)`,
      'git update-index --cacheinfo "100644,$h,a.js"',
    ],
  },
  {
    name: 'mends the file and fails, as `pre-commit` does',
    lines: ['echo "// checked" >> a.js', 'exit 1'],
  },
];

test.each(HOOKS)(
  'rebase writes what a hook made that $name, reviews it and commits it',
  async ({ lines }) => {
    const rule = {
      name: 'a',
      match: { contains: '- a.js' },
      answer: whole({ 'a.js': 'const a = 2;\n' }),
    };
    const s = (open = await scene({ 'a.js': 'const a = 1;\n' }, [rule]));
    const hook = join(s.repo, '.git/hooks/pre-commit');
    // It is met once.
    writeFileSync(hook, ['#!/bin/sh', 'grep -q checked a.js && exit 0', ...lines, ''].join('\n'));
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
  },
);
