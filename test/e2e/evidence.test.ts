/** Evidence of a real run, checked with no server: every value of it, every file of the archive and every line of its log, changed in turn. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { verifyEvidence } from '../../src/client/archive/verify-evidence.js';
import { refreshRun } from '../../src/client/runs/resolve.js';
import { OWN_STORE } from './homes.js';
import { scene, whole, type Scene } from './support.js';
import { longOnly } from '../support/skipped.js';

const long = longOnly('twenty seconds; the files of the archive show it always');

interface Envelope {
  payloadType: string;
  payload: string;
  signatures: { sig: string }[];
}

let dir: string;
let s: Scene;
let archive: string;
let envelope: Envelope;
const before = process.env.GIT_CONFIG_GLOBAL;
const emend = (...args: string[]) =>
  spawnSync(process.execPath, [join(process.cwd(), 'dist', 'client.js'), ...args], {
    cwd: dir,
    encoding: 'utf8',
    // No home, no server: nothing but what is named.
    env: { PATH: process.env.PATH, HOME: dir, TEMPORAL_ADDRESS: '127.0.0.1:1' },
  });
const check = (changed: Envelope, from = archive) =>
  verifyEvidence(JSON.stringify(changed), { repository: s.repo, archive: from, signers: null });

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'emend-evidence-'));
  execFileSync('ssh-keygen', [
    '-q',
    '-t',
    'ed25519',
    '-N',
    '',
    '-C',
    'ada',
    '-f',
    join(dir, 'key'),
  ]);
  writeFileSync(
    join(dir, 'gitconfig'),
    `[gpg]\n\tformat = ssh\n[user]\n\tsigningkey = ${join(dir, 'key')}\n`,
  );
  process.env.GIT_CONFIG_GLOBAL = join(dir, 'gitconfig');
  s = await scene(
    {
      'a.js': 'const a = 1;\n',
      signers: `ada ${readFileSync(join(dir, 'key.pub'), 'utf8')}`,
      'emend.yaml': `approvers: signers\nevidenceKey: ${join(dir, 'key')}\n`,
    },
    [{ name: 'a', match: { contains: '- a.js' }, answer: whole({ 'a.js': 'const a = 2;\n' }) }],
    { env: OWN_STORE },
  );
  await s.worker();
  const run = await s.start(
    'job.md',
    '---\ntarget_files: [a.js]\ncommit: true\ntest: echo fine\n---\n# Grow\n\nTwo.\n',
  );
  await s.settle(run);
  await s.answer(run, 'approve');
  expect(await s.end(run)).toMatchObject({ outcome: 'committed' });
  await refreshRun(s.emend, run);
  archive = join(dir, run.stepKey);
  cpSync(join(s.store, 'archive', run.stepKey), archive, { recursive: true });
  envelope = JSON.parse(readFileSync(join(archive, 'evidence.json'), 'utf8')) as Envelope;
}, 120_000);
afterAll(async () => {
  await s.close();
  rmSync(dir, { recursive: true, force: true });
  if (before === undefined) delete process.env.GIT_CONFIG_GLOBAL;
  else process.env.GIT_CONFIG_GLOBAL = before;
});

const statement = (): Record<string, unknown> =>
  JSON.parse(Buffer.from(envelope.payload, 'base64').toString()) as Record<string, unknown>;
const withStatement = (value: object): Envelope => ({
  ...envelope,
  payload: Buffer.from(JSON.stringify(value)).toString('base64'),
});

test('the archive of a run that ended holds it, signed, and a clone and a copy of the archive are enough to check it', () => {
  const clone = join(dir, 'clone');
  execFileSync('git', ['clone', '-q', s.repo, clone]);
  const file = join(archive, 'evidence.json');
  const all = emend('evidence', 'verify', file, '--repository', clone, '--archive', archive);
  expect([all.stdout, all.status]).toEqual([
    expect.stringMatching(
      /^commit \w+, made on \w+\nsigned by ada\nEverything that was checked matches\.\n$/,
    ),
    0,
  ]);
  const few = emend('evidence', 'verify', file, '--repository', clone);
  expect(few.stdout).toMatch(/no archive given.*\ncommit .*\nsigned by ada\n/);
  // Nor a working tree, where the list is given.
  execFileSync('git', ['clone', '-q', '--bare', s.repo, `${clone}.git`]);
  const bare = emend(
    'evidence',
    'verify',
    file,
    '--repository',
    `${clone}.git`,
    '--signers',
    join(clone, 'signers'),
  );
  expect(bare.stdout).toBe(few.stdout);
  writeFileSync(join(dir, 'others'), '');
  const written = spawnSync(
    process.execPath,
    [join(process.cwd(), 'dist', 'client.js'), 'evidence', basename(archive)],
    {
      encoding: 'utf8',
      env: { ...s.env, PATH: process.env.PATH },
    },
  );
  expect([written.stderr, written.status]).toEqual(['', 0]);
  expect(written.stdout.trim()).toBe(join(s.store, 'archive', basename(archive), 'evidence.json'));
  const others = emend(
    'evidence',
    'verify',
    file,
    '--repository',
    clone,
    '--signers',
    join(dir, 'others'),
  );
  expect([others.stdout, others.status]).toEqual([
    expect.stringMatching(/does not match: signatures\.0\.sig/),
    1,
  ]);
  const said = statement() as { subject: unknown; predicate: Record<string, unknown> };
  expect(said.subject).toEqual([
    { name: 'commit', digest: { gitCommit: s.git('rev-parse', 'HEAD').trim() } },
    { name: 'a.js', digest: { sha256: expect.stringMatching(/^[0-9a-f]{64}$/) } },
  ]);
  expect(said.predicate).toMatchObject({
    outcome: 'committed',
    base: s.git('rev-parse', 'HEAD^').trim(),
    tests: [{ outcome: 'pass', output: expect.stringMatching(/^sha256:/) }],
    signed: [
      { answer: 'approve', signed: { signature: expect.stringContaining('SSH SIGNATURE') } },
    ],
    made: { calls: [{ model: expect.any(String), answer: expect.any(String) }] },
  });
});

long('without a key it is written all the same, and marked as unsigned', async () => {
  const plain = await scene(
    { 'a.js': 'const a = 1;\n' },
    [{ name: 'a', match: { contains: '- a.js' }, answer: whole({ 'a.js': 'const a = 2;\n' }) }],
    { env: OWN_STORE },
  );
  try {
    await plain.worker();
    const run = await plain.start(
      'job.md',
      '---\ntarget_files: [a.js]\napproval: auto\n---\n# Grow\n\nTwo.\n',
    );
    await plain.end(run);
    await refreshRun(plain.emend, run);
    const left = join(plain.store, 'archive', run.stepKey);
    const text = readFileSync(join(left, 'evidence.json'), 'utf8');
    const { wrong, notes } = await verifyEvidence(text, {
      repository: plain.repo,
      archive: left,
      signers: null,
    });
    expect([wrong, notes.join()]).toEqual([[], expect.stringContaining('unsigned')]);
  } finally {
    await plain.close();
  }
});

/** Places of all values that are no map or list. */
const places = (value: unknown, at: readonly string[] = []): (readonly string[])[] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([name, each]) => places(each, [...at, name]))
    : [at];
const changedAt = (value: unknown, [name, ...rest]: readonly string[]): unknown => {
  if (name === undefined) return typeof value === 'number' ? value + 1 : `${String(value)}x`;
  const old = value as Record<string, unknown>;
  const next = changedAt(old[name], rest);
  return Array.isArray(value)
    ? value.map((each, n) => (String(n) === name ? next : (each as unknown)))
    : { ...old, [name]: next };
};

long(
  'each value changed in turn: named, and the signature does not hold',
  async () => {
    expect((await check(envelope)).wrong).toEqual([]);
    const said = statement();
    const all = places(said);
    expect(all.length).toBeGreaterThan(70);
    for (const place of all) {
      const { wrong } = await check(withStatement(changedAt(said, place) as object));
      expect(wrong.map((each) => each.split(':')[0])).toEqual(
        expect.arrayContaining([place.join('.'), 'signatures.0.sig']),
      );
    }
    // The file is anybody's: what it names is no option of git.
    const written = join(dir, 'written');
    const option = changedAt(said, ['subject', '0', 'digest', 'gitCommit']) as {
      subject: { digest: object }[];
    };
    option.subject[0]!.digest = { gitCommit: `--output=${written}` };
    expect((await check(withStatement(option))).wrong.join()).toContain(
      'subject.0.digest.gitCommit',
    );
    expect(existsSync(written)).toBe(false);
    for (const broken of [
      {},
      [],
      { subject: [null] },
      { ...said, predicate: { signed: [null] } },
      { ...said, subject: 5 },
    ])
      await expect(check(withStatement(broken))).rejects.toThrow(/not a statement of a run/);
    for (const text of ['', 'null', '{}', '{"payloadType":1}'])
      await expect(
        verifyEvidence(text, { repository: s.repo, archive, signers: null }),
      ).rejects.toThrow(/not a DSSE envelope/);
    expect((await check({ ...envelope, payloadType: 'text/plain' })).wrong.join()).toMatch(
      /payloadType.*signatures\.0\.sig/,
    );
    const sig = Buffer.from('no signature').toString('base64');
    expect((await check({ ...envelope, signatures: [{ sig }] })).wrong.join()).toMatch(
      /^signatures\.0\.sig/,
    );
    expect((await check({ ...envelope, signatures: [] })).notes.join()).toContain('unsigned');
  },
  180_000,
);

test('each file of the archive, and a byte of each line of its log: named', async () => {
  const names = readdirSync(archive).filter((name) => name !== 'evidence.json');
  // Where two homes are at work each has a log of its own.
  const kinds = names.map((name) => name.replace(/^log-[0-9a-f]{32}\./, 'log.'));
  expect([...new Set(kinds)].sort()).toEqual(['evidence-inputs.json', 'log.jsonl']);
  for (const name of names) {
    const path = join(archive, name);
    const bytes = readFileSync(path);
    const lines = bytes.toString('latin1').split('\n').slice(0, -1);
    for (const [n, line] of lines.entries()) {
      const at =
        lines.slice(0, n).join('\n').length + Math.floor(line.length / 2) + (n === 0 ? 0 : 1);
      const changed = Buffer.from(bytes);
      changed[at] = changed[at]! ^ 1;
      writeFileSync(path, changed);
      // A line that is no JSON any more is left out by readers, so more may be wrong than the line.
      const { wrong } = await check(envelope).catch((error: unknown) => ({
        wrong: [String(error)],
      }));
      const place = name.endsWith('.jsonl')
        ? `predicate.archive.${name}.lines.${n}`
        : `predicate.archive.${name}.sha256`;
      expect(wrong.map((each) => each.split(':')[0])).toContain(place);
    }
    writeFileSync(path, bytes);
  }
  for (const name of names) {
    const path = join(archive, name);
    const bytes = readFileSync(path);
    rmSync(path);
    expect((await check(envelope)).wrong.join()).toContain(`predicate.archive.${name}`);
    writeFileSync(path, bytes);
  }
  writeFileSync(join(archive, 'more'), '');
  expect((await check(envelope)).wrong.join()).toContain('predicate.archive.more');
  rmSync(join(archive, 'more'));
  expect((await check(envelope)).wrong).toEqual([]);
}, 120_000);
