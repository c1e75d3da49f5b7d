/** The commands of README and docs as they stand there, in a shell: the tutorial as one script, the others each on the scene it is about. */
import { execFile, spawn } from 'node:child_process';
import {
  chmodSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { expectedExit } from '../../scripts/docs/script.js';
import { docCommands, runnerOf, type DocCommand, type Given } from '../docs/commands.js';
import { scene, whole, type Scene } from './support.js';

const TUTORIAL = 'docs/tutorial.md';
const BAD = 'I would rather not say.';
const JOB = (file: string): string =>
  `---\ntarget_files: [${file}]\ncommit: true\n---\n# Greet politely\n\nSay good day.\n`;
const GREET = "export const greet = (name) => 'hello ' + name;\n";
const GREETED = GREET.replace('hello', 'good day');

/** One for each run that is to wait, so that none finds its change made already. */
const OWN = Array.from({ length: 20 }, (_, i) => `src/own-${i + 1}.js`);

let s: Scene;
let bin = '';
beforeAll(async () => {
  s = await scene(
    {
      'src/greet.js': GREET,
      'src/a.ts': 'const a = 1;\n',
      'src/bad.js': 'let x = 1;\n',
      ...Object.fromEntries(OWN.map((path) => [path, GREET])),
      'jobs/polite.md': JOB('src/greet.js'),
      'job.md': JOB('src/greet.js'),
      'review.yaml': `v: 1\npaths: ["docs/**"]\n`,
      'script.yaml':
        /^```yaml\n(v: 1\nrules:[^]*?)^```$/m.exec(
          readFileSync('docs/rehearsal.md', 'utf8'),
        )?.[1] ?? '',
    },
    [
      {
        name: 'greet',
        match: { contains: '- src/greet.js' },
        answer: whole({ 'src/greet.js': GREETED }),
      },
      {
        name: 'a',
        match: { contains: '- src/a.ts' },
        answer: whole({ 'src/a.ts': 'const a = 2;\n' }),
      },
      ...OWN.map((path) => ({
        name: path,
        match: { contains: `- ${path}\n` },
        answer: whole({ [path]: GREETED }),
      })),
      { name: 'bad', match: { contains: '- src/bad.js' }, answer: BAD },
    ],
  );
  await s.worker();
  bin = realpathSync(mkdtempSync(join(tmpdir(), 'emend-bin-')));
  const command = join(bin, 'emend');
  writeFileSync(
    command,
    `#!/bin/sh\nexec "${process.execPath}" "${join(process.cwd(), 'dist/client.js')}" "$@"\n`,
  );
  chmodSync(command, 0o755);
  symlinkSync(process.env.EMEND_TEST_CLI ?? '', join(bin, 'temporal'));
}, 120_000);
afterAll(async () => {
  await s.close();
  rmSync(bin, { recursive: true, force: true });
});

const environment = (): Record<string, string | undefined> => ({
  ...s.env,
  NODE_OPTIONS: '',
  PATH: `${bin}${delimiter}${process.env.PATH ?? ''}`,
});

interface Ended {
  readonly code: number;
  readonly said: string;
}
const shell = (text: string): Promise<Ended> =>
  new Promise((resolve) => {
    execFile('bash', ['-c', text], { cwd: s.repo, env: environment() }, (error, out, err) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1;
      resolve({ code, said: `${out}${err}` });
    });
  });

const READY = /127\.0\.0\.1:\d+|worker ready/;
/** Ended as soon as it has said where it is. */
const serve = (text: string): Promise<Ended> =>
  new Promise((resolve) => {
    const child = spawn('bash', ['-c', `exec ${text}`], { cwd: s.repo, env: environment() });
    let said = '';
    const hear = (more: Buffer): void => {
      said += more.toString();
      if (READY.test(said)) child.kill('SIGTERM');
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    child.once('close', (code, signal) => {
      // The signal may come before it listens for one.
      resolve({ code: signal === 'SIGTERM' ? 0 : (code ?? 1), said });
    });
  });

let count = 0;
/** A run of its own that waits: the words of a document that stand for one, and what they are here. */
const placeholders = async (
  given: Given,
  command: string,
): Promise<readonly (readonly [string | RegExp, string])[]> => {
  if (given !== 'approval' && given !== 'refused') return [];
  const reason = given === 'approval' ? 'approval' : 'attempts_exhausted';
  const own = OWN[count++] ?? '';
  const file = given === 'refused' ? 'src/bad.js' : command.includes('src/a.ts') ? 'src/a.ts' : own;
  const run = await s.start(`jobs/own-${count}.md`, JOB(file));
  const { status } = await s.settle(run);
  expect({ command, reason: status.decision?.reason }).toEqual({ command, reason });
  return [
    [/\bRUN\b/g, run.stepKey.slice(0, 8)],
    [/\bANSWER\b/g, 'approve'],
    [/\bID\b/g, status.decision?.id ?? ''],
    [/\b\d-69b1d504-639076ba\b/g, status.decision?.id ?? ''],
    [/emend\/job\/greet\/e049afb04d33/g, run.live?.workflowId ?? ''],
  ];
};

/** One that stands in several documents is run once. */
const unlike = docCommands().filter(
  ({ command }, at, all) =>
    all.findIndex((other) => other.command === command && other.file !== TUTORIAL) === at,
);
const here = unlike.flatMap((each): readonly (readonly [string, DocCommand, Given])[] => {
  const runner = runnerOf(each);
  return runner !== undefined && 'here' in runner
    ? [[`${each.file}:${each.line}: ${each.command}`, each, runner.here]]
    : [];
});
/** A document's fixed port may be taken on this machine. */
const PORT = [/--port 8077\b/g, '--port 0'] as const;
/** Of a command that waits, where the document names no code: nobody is at a terminal here. */
const WAITS = /^(?:\S+=\S+ )?emend run /;

describe('commands of README and docs', () => {
  test.each(here)(
    '%s',
    async (_name, { command, text }, given) => {
      const words = [...(await placeholders(given, command)), PORT];
      const typed = words.reduce((now, [word, value]) => now.replaceAll(word, value), text);
      const { code, said } = given === 'serves' ? await serve(typed) : await shell(typed);
      const expected = expectedExit(text) || (WAITS.test(command) ? 3 : 0);
      expect({ typed, code, said }).toMatchObject({ code: expected });
      if (given === 'serves') expect(said).toMatch(READY);
    },
    60_000,
  );
});

test('the tutorial, as one script', async () => {
  const child = spawn(process.execPath, ['scripts/tutorial.js'], {
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (said += text));
  const code = await new Promise((resolve) => child.once('close', resolve));
  expect({ code, said }).toMatchObject({ code: 0 });
  expect(said).toContain("+export const greet = (name) => 'Good day, ' + name;");
  expect(said).toContain('Emend-Step: ');
  expect(said).toContain('wrote report.md');
}, 240_000);
