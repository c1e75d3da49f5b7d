import { afterEach, describe, expect, test } from '@jest/globals';
import { scene, type Scene } from './support.js';

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const whole = (path: string, content: string): string =>
  `FILE ${path} {{nonce}}\n${content}END FILE {{nonce}}\nEMEND-COMPLETE {{nonce}} 1 1\n`;

describe('a job, end to end', () => {
  test('one file: proposed, approved, applied, verified, committed', async () => {
    const s = (open = await scene({ 'src/greet.js': 'export const greet = () => "hello";\n' }, [
      { name: 'edit', match: { contains: 'src/greet.js' }, answer: whole('src/greet.js', 'export const greet = () => "good day";\n') },
    ]));
    await s.worker();
    const run = await s.start(
      'job.md',
      '---\ntarget_files: [src/greet.js]\ntest: node --check src/greet.js\ncommit: true\n---\n# Greet politely\n\nSay good day.\n',
    );
    const paused = await s.settle(run);
    expect(paused.status.decision?.reason).toBe('approval');
    expect(paused.proposal?.files).toMatchObject([{ path: 'src/greet.js', change: 'edit', added: 1, removed: 1 }]);
    expect(s.read('src/greet.js')).toContain('hello');

    expect(await s.answer(run, 'approve')).toMatchObject({ outcome: 'settled', via: 'update' });
    const result = await s.end(run);
    expect(result).toMatchObject({ outcome: 'committed', files: ['src/greet.js'], verification: 'pass', wasSplit: false });
    expect(s.read('src/greet.js')).toBe('export const greet = () => "good day";\n');
    expect(s.git('log', '-1', '--format=%s%n%(trailers:key=Emend-Step,valueonly)').trim().split('\n')).toEqual([
      'Greet politely',
      run.stepKey,
    ]);
    expect(s.git('status', '--porcelain', 'src')).toBe('');
    expect(s.rehearsal.requests()).toHaveLength(1);
  });
});
