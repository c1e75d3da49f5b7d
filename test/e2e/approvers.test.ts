/** `approvers`: a decision counts only where a key of the base commit's `allowed_signers` signed it. Real keys, real ssh-keygen. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { decide, resolveRun, type ResolvedRun } from '../../src/client/index.js';
import { sign } from '../../src/client/runs/sign-answer.js';
import { versioned } from '../../src/shared/problems.js';
import type { DecisionRequest } from '../../src/shared/decisions.js';
import { check } from './check-history.js';
import { eventually } from './ends.js';
import { servePage } from './page-support.js';
import { answerFor, planText, startDemo, TWO_WAVES } from './plan-support.js';
import { scene, whole, type Scene } from './support.js';
import { longOnly } from '../support/skipped.js';

const long = longOnly('each starts a run of its own; the tests that stay show the promise');

const RULES = [
  { name: 'a', match: { contains: '- a.js' }, answer: whole({ 'a.js': 'const a = 2;\n' }) },
];
const JOB = '---\ntarget_files: [a.js]\napproval: auto\n---\n# Grow\n\nRaise the number.\n';

let keys: string;
let open: Scene | null = null;
const before = process.env.GIT_CONFIG_GLOBAL;
/** Whose key git signs with, as a person sets it. */
const iAm = (who: string | null): void => {
  const path = join(keys, 'gitconfig');
  writeFileSync(
    path,
    who === null ? '' : `[gpg]\n\tformat = ssh\n[user]\n\tsigningkey = ${join(keys, who)}\n`,
  );
  process.env.GIT_CONFIG_GLOBAL = path;
};
const signer = (who: string): string =>
  `${who}@example.org namespaces="emend-decision" ${readFileSync(join(keys, `${who}.pub`), 'utf8')}`;

beforeAll(() => {
  keys = mkdtempSync(join(tmpdir(), 'emend-keys-'));
  for (const who of ['ada', 'eve'])
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', who, '-f', join(keys, who)]);
});
afterAll(async () => {
  await shared?.close();
  rmSync(keys, { recursive: true, force: true });
  if (before === undefined) delete process.env.GIT_CONFIG_GLOBAL;
  else process.env.GIT_CONFIG_GLOBAL = before;
});
afterEach(async () => {
  await open?.close();
  open = null;
});

interface Waiting {
  readonly s: Scene;
  readonly run: ResolvedRun;
  readonly workflowId: string;
  readonly request: DecisionRequest;
  readonly proposalId: string;
}
const signing = (): Promise<Scene> =>
  scene(
    {
      'a.js': 'const a = 1;\n',
      'emend.yaml': 'approvers: .emend/allowed_signers\n',
      '.emend/allowed_signers': signer('ada'),
    },
    RULES,
  );
/** With a worker, for the tests that need none of their own: starting one takes longer than a run. */
let shared: Scene | null = null;
const sharedAtWork = async (): Promise<Scene> => {
  if (shared === null) {
    shared = await signing();
    await shared.worker();
  }
  return shared;
};
/** A run that waits for an approver, and the approval as anybody can write it. `crash`: of a worker of its own. */
const waiting = async (crash?: string): Promise<Waiting> => {
  const s = crash === undefined ? await sharedAtWork() : (open = await signing());
  if (crash !== undefined) await s.worker(crash);
  s.write('a.js', 'const a = 1;\n');
  // What lies in the working tree says nothing of who approves.
  s.write('emend.yaml', '');
  s.write('.emend/allowed_signers', signer('eve'));
  const run = await s.start('job.md', JOB, { again: true });
  const { status, workflowId } = await s.settle(run);
  expect(status.decision).toMatchObject({ reason: 'approval', mustSign: true });
  const { id, proposalId } = status.decision!;
  const by = { name: 'ada', from: 'cli' };
  const request: DecisionRequest = versioned({
    decision: id,
    answer: 'approve' as const,
    requestId: 'r',
    by,
  });
  return { s, run, workflowId: workflowId!, request, proposalId: proposalId! };
};
const ignoredOf = async ({ s, run, request }: Waiting): Promise<readonly string[]> => {
  const { status } = await s.settle(run);
  expect(status.decision?.id).toBe(request.decision);
  expect(s.read('a.js')).toBe('const a = 1;\n');
  return status.ignored;
};

beforeEach(() => {
  iAm(null);
});

test('two signed answers at once: the host checks both, and the first counts', async () => {
  const { s, run, workflowId, request, proposalId } = await waiting();
  const ref = { workflowId, runId: null };
  const signed = (answer: 'approve' | 'skip'): Promise<DecisionRequest> =>
    sign(run.stepKey, { proposalId }, { ...request, answer, requestId: answer }, join(keys, 'ada'));
  const requests = [await signed('skip'), await signed('approve')];
  const outcomes = await Promise.all(
    requests.map((request) => s.emend.runs!.update(ref, request, 20_000)),
  );
  const words = outcomes.map((update) =>
    update.kind === 'answered' ? update.outcome.outcome : update.kind,
  );
  expect(words.sort()).toEqual(['already_resolved', 'resolved']);
  const decided = (await s.events(run)).filter(({ type }) => type === 'decided');
  expect(decided).toHaveLength(1);
  await s.end(run);
});

describe('without the signature of an approver nothing is approved', () => {
  test('by hand, by the client, by a policy, by another key, or by a signature for something else', async () => {
    const w = await waiting();
    const { s, run, request, proposalId } = w;
    const ref = { workflowId: w.workflowId, runId: null };
    const gateway = s.emend.runs!;
    // As the Temporal UI sends it.
    await gateway.signal(ref, 'approve', { decision: request.decision });
    await expect(s.answer(run, 'approve')).rejects.toThrow(
      /ignored: one of the approvers must sign it, but it is not signed/,
    );
    iAm('ada');
    const policy = { name: 'policy p.yaml', from: 'policy' };
    await expect(
      decide(s.emend, run, { answer: 'approve', decision: request.decision, by: policy }),
    ).rejects.toThrow(/not signed/);
    iAm('eve');
    await expect(s.answer(run, 'approve')).rejects.toThrow(
      /its key does not belong to an approver: No principal matched[.](?![.])/,
    );

    const signedBy = (
      who: string,
      what: DecisionRequest,
      stepKey = run.stepKey,
      proposal = proposalId,
    ) => sign(stepKey, { proposalId: proposal }, what, join(keys, who));
    const attacks: readonly DecisionRequest[] = [
      // Signed to skip, or for a part; sent as an approval of all.
      { ...(await signedBy('ada', { ...request, answer: 'skip' })), answer: 'approve' },
      { ...(await signedBy('ada', { ...request, note: 'only a.js' })), note: 'all' },
      // For another run, and for another proposal.
      await signedBy('ada', request, 'f'.repeat(32)),
      await signedBy('ada', request, run.stepKey, '0'.repeat(64)),
      { ...request, signed: { at: new Date().toISOString(), signature: 'none' } },
    ];
    for (const [n, attack] of attacks.entries())
      expect(
        await gateway.update(ref, { ...attack, requestId: `attack-${n}` }, 10_000),
      ).toMatchObject({
        kind: 'answered',
        outcome: { outcome: 'ignored' },
      });
    const ignored = await ignoredOf(w);
    expect(ignored).toHaveLength(4 + attacks.length);
    for (const why of ignored)
      expect(why).toMatch(/^(approve|skip) \S+: one of the approvers must sign it/);
  }, 120_000);

  long('a run that names approvers which the commit does not have is refused', async () => {
    const s = (open = await scene({ 'a.js': 'const a = 1;\n' }, RULES));
    await s.worker();
    s.write('emend.yaml', 'approvers: signers\n');
    s.write('signers', signer('ada'));
    const run = await s.start('job.md', JOB);
    expect(await s.end(run)).toMatchObject({
      outcome: 'refused',
      problem: { code: 'config_invalid' },
    });
  });
});

test('an approver signs with the key of git: it counts, and is kept under the name that the file gives the key', async () => {
  const w = await waiting();
  iAm('ada');
  expect(await w.s.answer(w.run, 'approve')).toMatchObject({ outcome: 'resolved' });
  expect(await w.s.end(w.run)).toMatchObject({ outcome: 'applied' });
  const decided = (await w.s.events(w.run)).filter(({ type }) => type === 'decided');
  expect(decided).toMatchObject([{ by: 'ada@example.org (cli)' }]);
  await check(w.s, w.workflowId, 'edit-step-applied-signed');
});

long.each(['verifyDecision:before:1', 'verifyDecision:after:1'])(
  'SIGKILL at %s: it counts, once',
  async (crash) => {
    const w = await waiting(crash);
    iAm('ada');
    const sent = w.s.answer(w.run, 'approve');
    const [dying] = w.s.workers();
    await dying!.exited;
    expect(dying!.fired()).toBe(true);
    await w.s.worker();
    await sent;
    expect(await w.s.end(w.run)).toMatchObject({ outcome: 'applied' });
    expect((await w.s.events(w.run)).filter(({ type }) => type === 'decided')).toHaveLength(1);
  },
  120_000,
);

long(
  'what a plan itself asks must be signed, too, and each of its phases',
  async () => {
    const [phase] = TWO_WAVES;
    const s = (open = await scene(
      {
        'plans/010_demo.md': planText([phase!]),
        'package.json': '{ "name": "demo", "scripts": { "test": "node -e 0" } }\n',
        'emend.yaml': 'approvers: signers\n',
        signers: signer('ada'),
      },
      [answerFor(phase!)],
    ));
    await s.worker();
    const run = await startDemo(s);
    expect((await s.settle(run)).status.decision).toMatchObject({
      reason: 'test_command',
      mustSign: true,
    });
    await expect(s.answer(run, 'run')).rejects.toThrow(/not signed/);
    iAm('ada');
    await s.answer(run, 'run');
    const step = await eventually('the run of the phase', async () => {
      const found = await resolveRun(s.emend, `${run.stepKey.slice(0, 8)}-p1-1`).catch(() => null);
      return found?.live == null ? null : found;
    });
    expect((await s.settle(step, 100)).status.decision).toMatchObject({
      reason: 'approval',
      mustSign: true,
    });
    await s.answer(step, 'approve');
    expect(await s.end(run)).toMatchObject({ outcome: 'completed' });
  },
  120_000,
);

long('an abort needs no signature: it approves nothing', async () => {
  const w = await waiting();
  await w.s.emend.runs!.signal({ workflowId: w.workflowId, runId: null }, 'abort', null);
  expect(await w.s.end(w.run)).toMatchObject({ outcome: 'aborted' });
});

long(
  'the page signs on loopback with the key of whoever started it; elsewhere it shows the command',
  async () => {
    const w = await waiting();
    iAm('ada');
    const through = async (
      more: Parameters<typeof servePage>[1],
      login: (address: string) => object,
    ) => {
      const served = await servePage(w.s.emend, more);
      try {
        const origin = more?.publicUrl ?? served.url;
        const local = `http://127.0.0.1:${served.port}`;
        const headers = { origin, 'content-type': 'application/json' };
        const body = JSON.stringify(login(served.address()));
        const opened = await fetch(`${local}/api/login`, { method: 'POST', headers, body });
        const { key } = (await opened.json()) as { key: string };
        const cookie = opened.headers.get('set-cookie')?.split(';')[0] ?? '';
        const { stepKey } = await resolveRun(w.s.emend, w.run.stepKey);
        const answer = { decision: w.request.decision, answer: 'approve' };
        const sent = await fetch(`${local}/api/runs/${stepKey}/decide`, {
          method: 'POST',
          headers: { ...headers, cookie, 'x-emend-key': key },
          body: JSON.stringify(answer),
        });
        return { status: sent.status, text: await sent.text() };
      } finally {
        await served.close();
      }
    };
    const secret = 'a long shared secret';
    const away = await through({ secret, publicUrl: 'https://emend.example.org' }, () => ({
      secret,
      name: 'ada',
    }));
    expect(away.status).toBe(409);
    expect(away.text).toContain(
      `emend decide ${w.run.stepKey.slice(0, 8)} approve --decision ${w.request.decision}`,
    );
    expect((await ignoredOf(w)).join()).toContain('not signed');
    const here = await through({}, (address) => ({ token: address.split('#token=')[1] }));
    expect(here).toMatchObject({ status: 200 });
    expect(await w.s.end(w.run)).toMatchObject({ outcome: 'applied' });
  },
);
