/**
 * The statement of the evidence of a run: an in-toto statement that is made from the archive of the run and the repository alone. Whoever has
 * both can make it again and compare. docs/how-to/evidence.md describes it.
 */
import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isStepKey } from '../../shared/ids.js';
import { fail } from '../../shared/problems.js';
import { createArchive } from '../../stores/index.js';
import { jsonOf } from '../../system/json.js';
import { readGiven, readGivenText } from '../../system/given-file.js';
import { sha256 } from '../../system/hash.js';
import { together } from '../../system/together.js';
import { git } from '../../workspace/git/index.js';
import { reportFacts, type ReportFacts } from './report.js';
import { archivedRun, type ArchivedRun } from './run.js';

const TYPES = {
  _type: 'https://in-toto.io/Statement/v1',
  predicateType: 'urn:emend:evidence:1',
} as const;
/** Names of files in the archive of the run. */
export const EVIDENCE_FILE = 'evidence.json';
export const INPUTS_FILE = 'evidence-inputs.json';
const LINE_HASH_CHARS = 16; // bound: Digits of the hash of each line of a log in a statement.

interface Subject {
  readonly name: string;
  readonly digest: Readonly<Record<string, string>>;
}
/** A commit as a statement names it. */
interface CommitStatement {
  /** The commit, then each file that it changed, with the hash of its bytes. */
  readonly subject: readonly Subject[];
  /** The parent; null: there is none, or the commit is not in the repository. */
  readonly base: string | null;
  /** Files that the commit removed. */
  readonly absent: readonly string[];
}

/** The repository may be bare: whoever checks evidence may have no working tree. */
const BARE = ['-c', 'safe.bareRepository=all'];

/** Returns the bytes of a file. `object`: the file as git names it, `<commit>:<path>`. Null: there is no such file. */
export const bytesOf = async (repository: string, object: string): Promise<Uint8Array | null> => {
  const blob = await git([...BARE, 'cat-file', 'blob', object], {
    cwd: repository,
    reading: true,
  });
  return blob.ok ? blob.value.bytes : null;
};

/** Lists the parents of a commit and the paths that it changed, separated by NUL. Null: the commit is not in the repository. */
const changesOf = async (repository: string, commit: string): Promise<string | null> => {
  // The id comes from a file of somebody else. It must not be an option of git.
  if (!/^[0-9a-f]{40,64}$/.test(commit)) return null;
  const options = ['-r', '-z', '--always', '--no-renames', '--format=%P', '--name-only', '--root'];
  const tree = await git([...BARE, 'diff-tree', ...options, commit], {
    cwd: repository,
    reading: true,
  });
  return tree.ok ? tree.value.text : null;
};

export const statementOfCommit = async (
  repository: string,
  commit: string,
): Promise<CommitStatement> => {
  const changes = await changesOf(repository, commit);
  // The parents, then a line end and the paths.
  const [parents = '', first = '', ...others] = (changes ?? '').split('\0');
  const paths = [first.slice(1), ...others].filter((path) => path !== '');
  const files = await together(paths, async (name) => {
    const bytes = await bytesOf(repository, `${commit}:${name}`);
    return { name, digest: bytes === null ? null : { sha256: sha256(bytes) } };
  });
  const present = files.flatMap(({ name, digest }): Subject[] =>
    digest === null ? [] : [{ name, digest }],
  );
  const digest = { gitCommit: changes === null ? 'not in the repository' : commit };
  return {
    subject: [{ name: 'commit', digest }, ...present],
    base: /^\w+/.exec(parents)?.[0] ?? null,
    absent: files.filter((file) => file.digest === null).map(({ name }) => name),
  };
};

/** Returns size and hash of each file of the archive, and of a log the hash of each line. */
const filesOf = async (dir: string): Promise<Readonly<Record<string, unknown>>> => {
  const names = (await readdir(dir)).filter((name) => name !== EVIDENCE_FILE).sort();
  const files = names.map(async (name) => {
    const bytes = await readGiven(join(dir, name), Infinity);
    const file = { bytes: bytes.length, sha256: sha256(bytes) };
    if (!name.endsWith('.jsonl')) return [name, file] as const;
    const lines = bytes.toString('latin1').split('\n').slice(0, -1);
    return [name, { ...file, lines: lines.map(hashOfLine) }] as const;
  });
  return Object.fromEntries(await Promise.all(files));
};

const hashOfLine = (line: string): string =>
  sha256(Buffer.from(line, 'latin1')).slice(0, LINE_HASH_CHARS);

/** Returns the signed answers, each with the hash of the proposal. The decision only has the first digits of that hash. */
const signedAnswersOf = ({ requests, versions }: ArchivedRun) => {
  const ids = versions.map(({ proposal }) => proposal.id);
  return requests.flatMap((request) => {
    const start = request.decision.split('-')[2];
    const proposal = start === undefined ? null : (ids.find((id) => id.startsWith(start)) ?? null);
    return request.signed === undefined ? [] : [{ ...request, proposal }];
  });
};

/** Makes the statement. `dir`: the archive of the run. Throws ProblemError `usage` if it is none. */
export const statementOf = async (dir: string, repository: string): Promise<object> => {
  const stepKey = basename(dir);
  if (!isStepKey(stepKey))
    return fail('usage', `${dir} is not an archive of a run, which is named by the run's key.`);
  const run = archivedRun(stepKey, await createArchive({ dir: dirname(dir) }).read(stepKey));
  const facts = reportFacts(run);
  const inputs = await readGivenText(join(dir, INPUTS_FILE));
  const commit = facts.commit === null ? null : await statementOfCommit(repository, facts.commit);
  return {
    ...TYPES,
    subject: commit?.subject ?? [subjectWithoutCommit(run)],
    predicate: {
      run: stepKey,
      title: facts.title,
      job: facts.jobPath,
      outcome: facts.outcome,
      startedAt: facts.startedAt,
      base: commit?.base ?? null,
      absent: commit?.absent ?? [],
      ...partsOfProposal(run),
      tests: testsOf(facts),
      decisions: facts.decisions,
      signed: signedAnswersOf(run),
      made: jsonOf(inputs ?? 'null'),
      archive: await filesOf(dir),
    },
  };
};

const subjectWithoutCommit = ({ stepKey, proposal }: ArchivedRun): Subject =>
  proposal === null
    ? { name: 'run', digest: { sha256: sha256(stepKey) } }
    : { name: 'proposal', digest: { sha256: proposal.id } };

const partsOfProposal = ({ proposal }: ArchivedRun) => ({
  proposal: proposal === null ? null : { id: proposal.id, ref: proposal.ref, diff: proposal.diff },
  files: proposal?.files ?? [],
  findings: (proposal?.findings ?? []).map(({ guard, severity, path, lines = null }) => ({
    guard,
    severity,
    path,
    lines,
  })),
  tolerances: proposal?.tolerances ?? [],
  mustAsk: proposal?.mustAsk ?? [],
});

const testsOf = ({ verifications }: ReportFacts) =>
  verifications.map(({ at, outcome, summary, output }) => ({ at, outcome, summary, output }));
