/**
 * No secret that is recognized reaches a model: in a request placeholders stand for it, and in the answer it is put back before anything
 * reads that. Nor does one reach what a result says in words: history, events and logs.
 */
import { randomBytes } from 'node:crypto';
import type { ProjectConfig } from '../../documents/job/index.js';
import { decodeFile } from '../../edits/index.js';
import type { ModelRequest, TextBlock } from '../../model/ports.js';
import { GUARDS, type Finding, type GuardSettings } from '../../shared/formats.js';
import type { BlobRef, StepKey } from '../../shared/ids.js';
import { getJson } from '../../stores/ports.js';
import { escaped } from '../../shared/text.js';
import { secretsOfEnvironment, type Secret } from '../../system/secrets.js';
import { hidesSecret, LIKE_PLACEHOLDER, Vault } from '../../system/vault.js';
import { KnownValues } from '../../system/known-values.js';
import type { ActivityPorts } from './ports.js';

const REMEMBERED_FILES = 10_000; // bound: Files whose secrets a worker remembers: each is looked through once.
const PLACES_NAMED = 20; // bound: Lines with secrets that a question names.
const SHORTEST_CHARS = 6; // bound: What is shorter holds no secret, nor a line of one.

/** Files that a run shows, as its snapshot has them. */
export interface ShownFiles {
  readonly targets?: readonly (Pick<SecretSource, 'path' | 'encoding'> & {
    readonly base: { readonly ref: BlobRef } | null;
  })[];
  readonly context?: readonly Omit<SecretSource, 'encoding'>[];
  readonly rules?: readonly Omit<SecretSource, 'encoding'>[];
  /** `env`: variables that the run's commands get, whose values are hidden as well. */
  readonly config?: { readonly env?: readonly string[] };
}
export interface SecretSource {
  readonly path: string;
  readonly ref: BlobRef;
  readonly encoding: string | null;
}
const sourcesOf = ({
  targets = [],
  context = [],
  rules = [],
}: ShownFiles): readonly SecretSource[] => [
  ...targets.flatMap(({ path, base, encoding }) =>
    base === null ? [] : [{ path, ref: base.ref, encoding }],
  ),
  ...[...context, ...rules].map(({ path, ref }) => ({ path, ref, encoding: null })),
];

const valuesOf = ({ config }: ShownFiles): readonly Secret[] =>
  secretsOfEnvironment(process.env, config?.env);

type Ports = Pick<ActivityPorts, 'blobs' | 'edits' | 'records'>;

/** By file and encoding; of what is in it only this process knows. */
const remembered = new Map<string, readonly Secret[]>();

/** What stands in these files. */
async function secretsIn(
  { blobs, edits }: Pick<Ports, 'blobs' | 'edits'>,
  sources: readonly SecretSource[],
  signal: AbortSignal,
): Promise<readonly Secret[]> {
  const found = await Promise.all(
    sources.map(async ({ ref, encoding }) => {
      const key = `${ref} ${encoding ?? ''}`;
      const known = remembered.get(key);
      if (known !== undefined) return known;
      const text = textOf(await blobs.get(ref), encoding);
      const secrets = await edits.run('secrets', text, signal);
      const all = [...secrets, ...(text.match(LIKE_PLACEHOLDER) ?? []).map((like) => [like])];
      if (remembered.size >= REMEMBERED_FILES) remembered.clear();
      remembered.set(key, all);
      return all;
    }),
  );
  return found.flat();
}

const textOf = (bytes: Uint8Array, encoding: string | null): string => {
  const decoded = decodeFile(bytes, encoding ?? undefined);
  return decoded.ok ? decoded.text.lines.join('\n') : '';
};

/** Drawn for the run, and as it was drawn for all its attempts. */
const keyOf = async ({ records }: Pick<Ports, 'records'>, stepKey: StepKey): Promise<string> => {
  const drawn = { key: randomBytes(32).toString('hex') };
  return (await records.putIfAbsent(`steps/${stepKey}/secrets`, drawn)).value.key;
};

const occurs = (secret: Secret, texts: readonly string[]): boolean =>
  secret.some((line) => texts.some((text) => text.includes(line) || text.includes(escaped(line))));

/**
 * Returns the secrets of the files, of the worker's environment and of the texts (joined: each search costs) that the texts contain. What
 * writes one in another notation is a secret of its own, so that an answer gets back what was hidden.
 */
async function secretsOf(
  ports: Ports,
  shown: ShownFiles,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<readonly Secret[]> {
  const [ofFiles, ofTexts] = await Promise.all([
    secretsIn(ports, sourcesOf(shown), signal),
    ports.edits.run('secrets', texts.join('\n'), signal),
  ]);
  // What an earlier request hid stands in a text as its placeholder, which looks drawn like any token.
  const own = ofTexts.filter((lines) => !lines.some(hidesSecret));
  const all = [...ofFiles, ...own, ...valuesOf(shown)];
  return [
    ...all.filter((secret) => occurs(secret, texts)),
    ...otherWritings(all, texts).map((writing) => [writing]),
  ];
}

/** Returns the passages of the texts that write a secret in another notation than its own, or than JSON's. */
function otherWritings(secrets: readonly Secret[], texts: readonly string[]): readonly string[] {
  const lines = secrets.flat();
  const plain = new Set([...lines, ...lines.map(escaped)]);
  const values = new KnownValues(lines);
  const writings = texts.flatMap((text) => values.writingsIn(text));
  return [...new Set(writings)].filter((writing) => !plain.has(writing));
}

const vaultOf = async (
  ports: Ports,
  stepKey: StepKey,
  secrets: readonly Secret[],
): Promise<Vault> => new Vault(secrets.length === 0 ? '' : await keyOf(ports, stepKey), secrets);

const ABOUT = `
- A word like EMEND_SECRET_0a1b2c3d_1 stands for a secret that you are not shown. Copy it exactly where it stands, put it nowhere else, make up none.`;

export interface MaskedCall {
  readonly stepKey: StepKey;
  readonly callKey: string;
  readonly shown: ShownFiles;
}
const recordOf = ({ stepKey, callKey }: MaskedCall): string => `steps/${stepKey}/masked-${callKey}`;

/** Places of the secrets of a request. `message` has line numbers, and no part of a secret. */
export interface SecretPlaces {
  readonly paths: readonly string[];
  readonly message: string;
}

/**
 * The request as `secrets` wants it; with `ask`, where its secrets stand. No setting sends the worker's own keys, or what would be taken
 * for a placeholder. ◆ What was hidden is recorded before the request is: whichever worker gets the answer puts it back.
 */
export async function maskRequest(
  ports: Ports,
  call: MaskedCall,
  {
    request,
    secrets,
  }: { readonly request: ModelRequest; readonly secrets: ProjectConfig['secrets'] },
  signal: AbortSignal,
): Promise<ModelRequest | SecretPlaces> {
  const texts = [...request.system, ...request.messages.flatMap(({ content }) => content)].map(
    ({ text }) => text,
  );
  const found = await secretsOf(ports, call.shown, texts, signal);
  const values = valuesOf(call.shown);
  const own = new Set([...values.flat(), ...otherWritings(values, texts)]);
  const isSent = (secret: Secret): boolean =>
    !secret.some((line) => own.has(line) || hidesSecret(line));
  const sent = found.filter(isSent);
  if (secrets === 'ask' && sent.length > 0) return placesOf(ports, sourcesOf(call.shown), sent);
  const hidden = secrets === 'send' ? found.filter((secret) => !isSent(secret)) : found;
  if (hidden.length === 0) return request;
  const all = [...hidden, ...(await quotedIn(ports, sourcesOf(call.shown), hidden))];
  await ports.records.putIfAbsent(recordOf(call), { secrets: all });
  const vault = await vaultOf(ports, call.stepKey, all);
  const masked = (block: TextBlock): TextBlock => ({ ...block, text: vault.mask(block.text) });
  return {
    ...request,
    system: request.system.map(masked).map((block) => ({ ...block, text: block.text + ABOUT })),
    messages: request.messages.map((message) => ({
      ...message,
      content: message.content.map(masked),
    })),
  };
}

/** Where a file holds the very text that a quote would have, that is a secret by itself, and comes back as it stood. */
async function quotedIn(
  { blobs }: Ports,
  sources: readonly SecretSource[],
  secrets: readonly Secret[],
) {
  const quoted = secrets.flat().flatMap((line) => (escaped(line) === line ? [] : [escaped(line)]));
  if (quoted.length === 0) return [];
  const texts = await Promise.all(
    sources.map(async ({ ref, encoding }) => textOf(await blobs.get(ref), encoding)),
  );
  return quoted.filter((line) => texts.some((text) => text.includes(line))).map((line) => [line]);
}

async function placesOf(
  { blobs }: Ports,
  sources: readonly SecretSource[],
  secrets: readonly Secret[],
) {
  const wanted = secrets.map(longestLine);
  const unseen = new Set(wanted);
  const places: { readonly path: string; readonly line: number }[] = [];
  for (const { path, ref, encoding } of sources)
    for (const [index, line] of textOf(await blobs.get(ref), encoding)
      .split('\n')
      .entries()) {
      const held = wanted.filter((secret) => line.includes(secret));
      for (const secret of held) unseen.delete(secret);
      if (held.length > 0) places.push({ path, line: index + 1 });
    }
  const named = places.slice(0, PLACES_NAMED).map(({ path, line }) => `${path}:${line}`);
  if (places.length > PLACES_NAMED) named.push(`${places.length - PLACES_NAMED} more lines`);
  if (unseen.size > 0) named.push('the instructions, a note, or test output');
  const message = `the request would contain what looks like a secret: ${named.join(', ')}`;
  return { paths: [...new Set(places.map(({ path }) => path))], message };
}

export async function restoreAnswer(
  ports: Ports,
  call: MaskedCall,
  answer: string,
  isJson: boolean,
): Promise<ReturnType<Vault['restore']>> {
  const recorded = await ports.records.get<{ readonly secrets: readonly Secret[] }>(recordOf(call));
  return (await vaultOf(ports, call.stepKey, recorded?.secrets ?? [])).restore(answer, isJson);
}

/** Fields of a result that have words. The others have names, which other code compares. */
const WORDS = new Set(
  (
    'advice alsoChanged blocked commitMessage discrepancy message mustAsk noSandbox note notWritten overEstimate partly reason reasoning ' +
    'reasons splitReason suggestions summary testsAfterApply unfinished warnings why words written'
  ).split(' '),
);
const wordsOf = (value: unknown, mask: (text: string) => string, inWords = false): unknown => {
  if (typeof value === 'string') return inWords ? mask(value) : value;
  if (Array.isArray(value)) return value.map((item) => wordsOf(item, mask, inWords));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      wordsOf(item, mask, inWords || WORDS.has(key)),
    ]),
  );
};

/** A result, or a failure's message, as history and archive may hold it. */
export async function maskWords<T>(
  ports: Ports,
  /** `snapshot` is null or absent if the run has read no files. */
  input: { readonly stepKey: StepKey; readonly snapshot?: BlobRef | null },
  result: T,
  signal: AbortSignal,
): Promise<T> {
  const words: string[] = [];
  wordsOf(result, (text) => (words.push(text), text));
  const texts = words.filter((text) => text.length >= SHORTEST_CHARS);
  if (texts.length === 0) return result;
  const shown =
    input.snapshot == null
      ? {}
      : await getJson<ShownFiles>(ports.blobs, input.snapshot, 'snapshot');
  const secrets = await secretsOf(ports, shown, [texts.join('\n')], signal);
  if (secrets.length === 0) return result;
  const vault = await vaultOf(ports, input.stepKey, secrets);
  return wordsOf(result, (text) => vault.mask(text)) as T;
}

// An edit may not carry a secret to where it was not: into another file, or a second time into its own.

/** A changed file; `base` null: it is new. */
export interface ChangedSource extends Pick<SecretSource, 'path' | 'encoding'> {
  readonly base: BlobRef | null;
  readonly result: BlobRef;
}

export async function secretFindings(
  ports: Pick<Ports, 'blobs' | 'edits'>,
  snapshot: ShownFiles & {
    readonly config: { readonly guards: GuardSettings; readonly env?: readonly string[] };
  },
  files: readonly ChangedSource[],
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const ofSnapshot = [
    ...(await secretsIn(ports, sourcesOf(snapshot), signal)),
    ...valuesOf(snapshot),
  ];
  const severity = snapshot.config.guards.secret ?? GUARDS.secret.default;
  const found = await Promise.all(
    files.map(async ({ path, base, result, encoding }): Promise<readonly Finding[]> => {
      const own = await secretsIn(ports, [{ path, ref: result, encoding }], signal);
      if (ofSnapshot.length + own.length === 0) return [];
      const [before, after] = await Promise.all([
        base === null ? '' : ports.blobs.get(base).then((bytes) => textOf(bytes, encoding)),
        ports.blobs.get(result).then((bytes) => textOf(bytes, encoding)),
      ]);
      const lines = [...new Set([...ofSnapshot, ...own].map(longestLine))].filter(
        (line) => after.split(line).length > before.split(line).length,
      );
      const known = new Set(ofSnapshot.map(longestLine));
      return lines.map((line) => {
        const at = after
          .slice(0, before === '' ? after.indexOf(line) : after.lastIndexOf(line))
          .split('\n').length;
        const where = known.has(line) ? 'a secret from elsewhere' : 'what looks like a secret';
        const message = `Line ${at} of ${path} contains ${where}: it would be committed.`;
        return { guard: 'secret', severity, path, lines: [at, at], message };
      });
    }),
  );
  return found.flat();
}
/** By which a key is found again. */
const longestLine = (secret: Secret): string =>
  secret.reduce((a, b) => (b.length > a.length ? b : a), '');
