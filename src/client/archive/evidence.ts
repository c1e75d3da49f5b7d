/**
 * Evidence of a run: a DSSE envelope with an in-toto statement. The statement is made from the run's archive and the repository alone, so
 * whoever has both makes it once more and compares, with no server; its signature says who vouches for it. docs/how-to/evidence.md.
 */
import { readdir, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { signedStatement, SIGNATURES, type DecisionRequest } from '../../shared/decisions.js';
import { isStepKey, type StepKey } from '../../shared/ids.js';
import { fail } from '../../shared/problems.js';
import { parseConfig } from '../../documents/job/index.js';
import { createArchive } from '../../stores/index.js';
import { isBucket, storePaths } from '../../stores/location.js';
import { jsonOf } from '../../system/json.js';
import { readGiven, readGivenText, readSettings } from '../../system/given-file.js';
import { canonicalJson, sha256 } from '../../system/hash.js';
import { signText, verifyText } from '../../system/ssh-signature.js';
import { together } from '../../system/together.js';
import { version } from '../../system/version.js';
import { git } from '../../workspace/git/index.js';
import { reportFacts } from './report.js';
import type { Emend } from '../types.js';
import { archivedRun, type ArchivedRun } from './run.js';

const PAYLOAD = 'application/vnd.in-toto+json';
const NAMESPACE = 'emend-evidence';
const TYPES = {
  _type: 'https://in-toto.io/Statement/v1',
  predicateType: 'urn:emend:evidence:1',
} as const;
/** In the archive of the run. */
const EVIDENCE = 'evidence.json';
const INPUTS = 'evidence-inputs.json';

/** The payload is the statement's canonical JSON, a signature an armored OpenSSH one, both in base64; no signatures: unsigned. */
const ENVELOPE = z.looseObject({
  payloadType: z.string(),
  payload: z.string(),
  signatures: z.array(z.looseObject({ sig: z.string() })),
});
type Envelope = z.infer<typeof ENVELOPE>;
const SUBJECT = z.looseObject({ name: z.string(), digest: z.record(z.string(), z.string()) });
type Subject = z.infer<typeof SUBJECT>;
const SIGNED = z.looseObject({
  decision: z.string(),
  answer: z.string(),
  proposal: z.string().nullable(),
  signed: z.looseObject({ at: z.string(), signature: z.string() }),
});
const STATEMENT = z.looseObject({
  subject: z.array(SUBJECT),
  predicate: z.looseObject({
    run: z.string(),
    base: z.unknown(),
    absent: z.unknown(),
    signed: z.array(SIGNED),
  }),
});

/** What is signed (the DSSE protocol's pre-authentication encoding). */
const encoded = (type: string, body: string): string =>
  `DSSEv1 ${Buffer.byteLength(type)} ${type} ${Buffer.byteLength(body)} ${body}`;
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const textOf = (data: string): string => Buffer.from(data, 'base64').toString('utf8');

/** Whoever checks may have no working tree. */
const BARE = ['-c', 'safe.bareRepository=all'];

/** `object`: as git names it, `<commit>:<path>`. */
const bytesOf = async (repository: string, object: string): Promise<Uint8Array | null> => {
  const found = await git([...BARE, 'cat-file', 'blob', object], {
    cwd: repository,
    reading: true,
  });
  return found.ok ? found.value.bytes : null;
};

/** The commit and what it made of each file that it changed; `absent`: files that it removed. */
const committed = async (repository: string, commit: string) => {
  const how = ['-r', '-z', '--always', '--no-renames', '--format=%P', '--name-only', '--root'];
  // The name is whoever's who wrote the file: it must be no option of git.
  const isId = /^[0-9a-f]{40,64}$/.test(commit);
  const said = isId
    ? await git([...BARE, 'diff-tree', ...how, commit], { cwd: repository, reading: true })
    : null;
  const changed = said?.ok === true ? said.value.text : null;
  // The parents, then a line end and the paths.
  const [parents = '', first = '', ...others] = (changed ?? '').split('\0');
  const base = /^\w+/.exec(parents)?.[0] ?? null;
  const paths = [first.slice(1), ...others].filter((each) => each !== '');
  const read = await together(paths, async (name) => {
    const bytes = await bytesOf(repository, `${commit}:${name}`);
    return { name, digest: bytes === null ? null : { sha256: sha256(bytes) } };
  });
  const files = read.flatMap(({ name, digest }): Subject[] =>
    digest === null ? [] : [{ name, digest }],
  );
  const absent = read.filter(({ digest }) => digest === null).map(({ name }) => name);
  const digest = { gitCommit: changed === null ? 'not in the repository' : commit };
  return { subject: [{ name: 'commit', digest }, ...files], base, absent };
};

/** Each file of the archive, a log line by line. */
const filesOf = async (dir: string): Promise<Readonly<Record<string, unknown>>> => {
  const names = (await readdir(dir)).filter((name) => name !== EVIDENCE).sort();
  const files = names.map(async (name) => {
    const bytes = await readGiven(join(dir, name), Infinity);
    const lines = bytes.toString('latin1').split('\n').slice(0, -1);
    const whole = { bytes: bytes.length, sha256: sha256(bytes) };
    if (!name.endsWith('.jsonl')) return [name, whole] as const;
    return [
      name,
      { ...whole, lines: lines.map((line) => sha256(Buffer.from(line, 'latin1')).slice(0, 16)) },
    ] as const;
  });
  return Object.fromEntries(await Promise.all(files));
};

/** Signed answers, each with the whole hash of the proposal that its decision names by the first digits. */
const signedOf = ({ requests, versions }: ArchivedRun) => {
  const ids = versions.map(({ proposal }) => proposal.id);
  return requests.flatMap((request) => {
    const start = request.decision.split('-')[2];
    const proposal = start === undefined ? null : (ids.find((id) => id.startsWith(start)) ?? null);
    return request.signed === undefined ? [] : [{ ...request, proposal }];
  });
};

const statementOf = async (dir: string, repository: string): Promise<object> => {
  const stepKey = basename(dir);
  if (!isStepKey(stepKey))
    return fail('usage', `${dir} is not an archive of a run, which is named by the run's key.`);
  const run = archivedRun(stepKey, await createArchive({ dir: dirname(dir) }).read(stepKey));
  const facts = reportFacts(run);
  const inputs = await readGivenText(join(dir, INPUTS));
  const made = facts.commit === null ? null : await committed(repository, facts.commit);
  const proposal = run.proposal;
  const whole =
    proposal === null
      ? { name: 'run', digest: { sha256: sha256(stepKey) } }
      : { name: 'proposal', digest: { sha256: proposal.id } };
  return {
    ...TYPES,
    subject: made?.subject ?? [whole],
    predicate: {
      run: stepKey,
      title: facts.title,
      job: facts.jobPath,
      outcome: facts.outcome,
      startedAt: facts.startedAt,
      base: made?.base ?? null,
      absent: made?.absent ?? [],
      proposal:
        proposal === null ? null : { id: proposal.id, ref: proposal.ref, diff: proposal.diff },
      files: proposal?.files ?? [],
      findings: (proposal?.findings ?? []).map(({ guard, severity, path, lines = null }) => ({
        guard,
        severity,
        path,
        lines,
      })),
      tolerances: proposal?.tolerances ?? [],
      mustAsk: proposal?.mustAsk ?? [],
      tests: facts.verifications.map(({ at, outcome, summary, output }) => ({
        at,
        outcome,
        summary,
        output,
      })),
      decisions: facts.decisions,
      signed: signedOf(run),
      made: jsonOf(inputs ?? 'null'),
      archive: await filesOf(dir),
    },
  };
};

/** Models and answers of its calls, by the hashes of their records' canonical JSON: what the archive does not hold otherwise. */
const inputsOf = async ({ calls }: Pick<Emend, 'calls'>, run: StepKey): Promise<object> => {
  const found = (await calls.names(run)).toSorted().map(async (call) => {
    const [asked, answer] = await Promise.all(
      ['call', 'answer'].map((name) => calls.get(`${run}/${call}/${name}`)),
    );
    const { request } = (asked ?? {}) as { readonly request?: { readonly model?: string } };
    const digest = (record: object | null | undefined): string | null =>
      record == null ? null : sha256(canonicalJson(record));
    return { call, model: request?.model ?? null, request: digest(asked), answer: digest(answer) };
  });
  return { v: 1, emend: version(), calls: await Promise.all(found) };
};

/** `evidenceKey` of the workspace's emend.yaml; null: there is none. */
export const evidenceKey = async (workspace: string): Promise<string | null> => {
  const config = parseConfig(await readSettings(join(workspace, 'emend.yaml')).catch(() => null));
  return config.ok ? (config.value.evidenceKey?.replace(/^~(?=\/)/, homedir()) ?? null) : null;
};

/**
 * Writes it into the archive, of a store in a bucket into a copy of it below the home; its path. `key`: who vouches, as git's
 * `user.signingkey`; null: nobody.
 */
export const writeEvidence = async (
  { home, store, archive, calls }: Pick<Emend, 'home' | 'store' | 'archive' | 'calls'>,
  run: StepKey,
  repository: string,
  key: string | null,
): Promise<string> => {
  const place = storePaths(isBucket(store) ? join(home, 'evidence') : store).archive;
  const dir = join(place, run);
  if (isBucket(store)) {
    await rm(dir, { recursive: true, force: true });
    await createArchive({ dir: place, isFollowed: false }).append(
      run,
      (await archive.read(run)).filter(({ kind }) => kind !== 'newer'),
    );
  }
  await writeFile(join(dir, INPUTS), `${canonicalJson(await inputsOf({ calls }, run))}\n`, {
    mode: 0o600,
  });
  const body = canonicalJson(await statementOf(dir, repository));
  const sig = key === null ? null : await signText(encoded(PAYLOAD, body), key, NAMESPACE);
  const signatures = sig === null ? [] : [{ sig: base64(sig) }];
  const envelope: Envelope = { payloadType: PAYLOAD, payload: base64(body), signatures };
  const path = join(dir, EVIDENCE);
  await writeFile(path, `${JSON.stringify(envelope)}\n`, { mode: 0o600 });
  return path;
};

/** Every value by the place where it stands. */
const leaves = (value: unknown, at: string): readonly (readonly [string, string])[] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([name, each]) =>
        leaves(each, at === '' ? name : `${at}.${name}`),
      )
    : [[at, JSON.stringify(value)]];

export interface Checking {
  readonly repository: string;
  /** The archive of the run; null: what only it can tell is not compared. */
  readonly archive: string | null;
  /** Text of an `allowed_signers` file; null: the base commit's `approvers`. */
  readonly signers: string | null;
}

/**
 * `wrong`: what does not hold, each with its name; `notes`: what was not, or could not be, looked at. Needs no server and no home. Throws
 * ProblemError `usage` for what is no envelope at all.
 */
export const verifyEvidence = async (text: string, { repository, archive, signers }: Checking) => {
  const { payloadType, payload, signatures } = read(
    ENVELOPE,
    text,
    'The file is not a DSSE envelope',
  );
  const body = textOf(payload);
  const said = read(STATEMENT, body, 'The payload is not a statement of a run');
  const wrong: string[] = [];
  const notes: string[] = [];
  const compare = (what: unknown, found: unknown, at: string): void => {
    const is = new Map(leaves(found, at));
    const says = new Map(leaves(what, at));
    for (const place of new Set([...says.keys(), ...is.keys()]))
      if (says.get(place) !== is.get(place))
        wrong.push(
          `${place}: says ${says.get(place) ?? 'nothing'}, found ${is.get(place) ?? 'nothing'}`,
        );
  };
  if (payloadType !== PAYLOAD) wrong.push(`payloadType: says ${payloadType}, expected ${PAYLOAD}`);
  if (canonicalJson(said) !== body) wrong.push('payload: is not the canonical JSON of a statement');
  const { predicate, subject } = said;
  const commit = subject.find(({ name }) => name === 'commit')?.digest.gitCommit;
  const made = commit === undefined ? null : await committed(repository, commit);
  const allowed = signers ?? (made?.base == null ? null : await approversAt(repository, made.base));
  if (archive === null) {
    notes.push('no archive given: only signatures, commit and files were checked');
    if (made !== null) {
      compare(subject, made.subject, 'subject');
      compare(predicate.base, made.base, 'predicate.base');
      compare(predicate.absent, made.absent, 'predicate.absent');
    }
  } else compare(said, await statementOf(archive, repository), '');

  const [first] = signatures;
  if (commit !== undefined) notes.push(`commit ${commit}, made on ${made?.base ?? 'nothing'}`);
  if (first === undefined) notes.push('unsigned: anyone with write access could have changed it');
  else if (allowed === null)
    wrong.push('signatures.0.sig: no list of signers to check it against (--signers FILE)');
  else {
    const checked = await verifyText(
      encoded(payloadType, body),
      textOf(first.sig),
      allowed,
      NAMESPACE,
    );
    if ('why' in checked) wrong.push(`signatures.0.sig: ${checked.why}`);
    else notes.push(`signed by ${checked.signer}`);
  }
  for (const [n, request] of predicate.signed.entries()) {
    const { at, signature } = request.signed;
    const stated = canonicalJson(
      signedStatement(
        predicate.run,
        request.proposal,
        request as DecisionRequest & typeof request,
        at,
      ),
    );
    const checked =
      allowed === null
        ? { why: 'no list' }
        : await verifyText(stated, signature, allowed, SIGNATURES);
    if ('why' in checked)
      wrong.push(`predicate.signed.${n}: ${request.answer} ${request.decision}: ${checked.why}`);
  }
  return { wrong, notes };
};

const read = <T>(schema: z.ZodType<T>, text: string, what: string): T => {
  const found = schema.safeParse(jsonOf(text));
  return found.success ? found.data : fail('usage', `${what}: ${z.prettifyError(found.error)}`);
};

/** As a run that began at this commit read them. */
const approversAt = async (repository: string, base: string): Promise<string | null> => {
  const read = async (path: string): Promise<string | null> => {
    const bytes = await bytesOf(repository, `${base}:./${path}`);
    return bytes === null ? null : new TextDecoder().decode(bytes);
  };
  const config = parseConfig(await read('emend.yaml'));
  return config.ok && config.value.approvers !== null ? read(config.value.approvers) : null;
};
