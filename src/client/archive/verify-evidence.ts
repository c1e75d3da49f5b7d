/** Checks the evidence of a run, without a server and without a home. docs/how-to/evidence.md. */
import { z } from 'zod';
import { parseConfig } from '../../documents/job/index.js';
import { signedStatement, SIGNATURES, type DecisionRequest } from '../../shared/decisions.js';
import { fail } from '../../shared/problems.js';
import { canonicalJson } from '../../system/hash.js';
import { jsonOf } from '../../system/json.js';
import { verifyText } from '../../system/ssh-signature.js';
import {
  ENVELOPE,
  fromBase64,
  PAYLOAD_TYPE,
  SIGNATURE_NAMESPACE,
  signedTextOf,
  type Envelope,
} from './evidence-envelope.js';
import { bytesOf, statementOf, statementOfCommit } from './evidence-statement.js';

const SUBJECT = z.looseObject({ name: z.string(), digest: z.record(z.string(), z.string()) });
const SIGNED_ANSWER = z.looseObject({
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
    signed: z.array(SIGNED_ANSWER),
  }),
});
type Statement = z.infer<typeof STATEMENT>;

export interface EvidenceSources {
  readonly repository: string;
  /** The archive of the run; null: what only the archive knows is not compared. */
  readonly archive: string | null;
  /** Text of an `allowed_signers` file; null: the `approvers` of the base commit count. */
  readonly signers: string | null;
}
export interface EvidenceCheck {
  /** Each value that is wrong, with its name in the statement. */
  readonly wrong: readonly string[];
  /** What was not checked or could not be checked, and by whom the evidence is signed. */
  readonly notes: readonly string[];
}

/** Checks the envelope. Throws ProblemError `usage` if the text is no envelope of a statement. */
export const verifyEvidence = async (
  text: string,
  sources: EvidenceSources,
): Promise<EvidenceCheck> => {
  const envelope = parse(ENVELOPE, text, 'The file is not a DSSE envelope');
  const body = fromBase64(envelope.payload);
  const statement = parse(STATEMENT, body, 'The payload is not a statement of a run');
  const verifier = new Verifier(envelope, body, statement);
  return verifier.verify(sources);
};

const parse = <T>(schema: z.ZodType<T>, text: string, message: string): T => {
  const result = schema.safeParse(jsonOf(text));
  return result.success
    ? result.data
    : fail('usage', `${message}: ${z.prettifyError(result.error)}`);
};

class Verifier {
  readonly #envelope: Envelope;
  readonly #body: string;
  readonly #statement: Statement;
  readonly #wrong: string[] = [];
  readonly #notes: string[] = [];

  constructor(envelope: Envelope, body: string, statement: Statement) {
    this.#envelope = envelope;
    this.#body = body;
    this.#statement = statement;
  }

  async verify({ repository, archive, signers }: EvidenceSources): Promise<EvidenceCheck> {
    this.#checkForm();
    const id = this.#statement.subject.find(({ name }) => name === 'commit')?.digest.gitCommit;
    const commit = id === undefined ? null : await statementOfCommit(repository, id);
    const base = commit?.base ?? null;
    if (archive !== null) this.#compare(this.#statement, await statementOf(archive, repository));
    else this.#compareCommit(commit);
    if (id !== undefined) this.#notes.push(`commit ${id}, made on ${base ?? 'nothing'}`);
    const allowed = signers ?? (base === null ? null : await approversAt(repository, base));
    await this.#checkSignature(allowed);
    await this.#checkSignedAnswers(allowed);
    return { wrong: this.#wrong, notes: this.#notes };
  }

  #checkForm(): void {
    const { payloadType } = this.#envelope;
    if (payloadType !== PAYLOAD_TYPE)
      this.#wrong.push(`payloadType: says ${payloadType}, expected ${PAYLOAD_TYPE}`);
    if (canonicalJson(this.#statement) !== this.#body)
      this.#wrong.push('payload: is not the canonical JSON of a statement');
  }

  #compareCommit(commit: Awaited<ReturnType<typeof statementOfCommit>> | null): void {
    this.#notes.push('no archive given: only signatures, commit and files were checked');
    if (commit === null) return;
    const { subject, predicate } = this.#statement;
    this.#compare(subject, commit.subject, 'subject');
    this.#compare(predicate.base, commit.base, 'predicate.base');
    this.#compare(predicate.absent, commit.absent, 'predicate.absent');
  }

  /** Compares two values, property by property. `name`: the name of the value in the statement. */
  #compare(stated: unknown, actual: unknown, name = ''): void {
    const statedValues = new Map(valuesOf(stated, name));
    const actualValues = new Map(valuesOf(actual, name));
    for (const key of new Set([...statedValues.keys(), ...actualValues.keys()])) {
      const [says, found] = [statedValues.get(key), actualValues.get(key)];
      if (says !== found)
        this.#wrong.push(`${key}: says ${says ?? 'nothing'}, found ${found ?? 'nothing'}`);
    }
  }

  async #checkSignature(allowed: string | null): Promise<void> {
    const signature = this.#envelope.signatures[0]?.sig;
    if (signature === undefined) {
      this.#notes.push('unsigned: anyone with write access could have changed it');
      return;
    }
    const name = 'signatures.0.sig';
    if (allowed === null) {
      this.#wrong.push(`${name}: no list of signers to check it against (--signers FILE)`);
      return;
    }
    const text = signedTextOf(this.#envelope.payloadType, this.#body);
    const result = await verifyText(text, fromBase64(signature), allowed, SIGNATURE_NAMESPACE);
    if ('why' in result) this.#wrong.push(`${name}: ${result.why}`);
    else this.#notes.push(`signed by ${result.signer}`);
  }

  async #checkSignedAnswers(allowed: string | null): Promise<void> {
    const { run, signed } = this.#statement.predicate;
    for (const [index, request] of signed.entries()) {
      const { at, signature } = request.signed;
      const answer = request as DecisionRequest & typeof request;
      const text = canonicalJson(signedStatement(run, request.proposal, answer, at));
      const result =
        allowed === null
          ? { why: 'no list' }
          : await verifyText(text, signature, allowed, SIGNATURES);
      if ('why' in result)
        this.#wrong.push(
          `predicate.signed.${index}: ${request.answer} ${request.decision}: ${result.why}`,
        );
    }
  }
}

/** Returns every value inside the value as JSON, by its name: `files.0.path`. */
const valuesOf = (value: unknown, name: string): readonly (readonly [string, string])[] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([key, property]) =>
        valuesOf(property, name === '' ? key : `${name}.${key}`),
      )
    : [[name, JSON.stringify(value)]];

/** Returns the list of approvers as a run read it that began at this commit. Null: there is none. */
const approversAt = async (repository: string, base: string): Promise<string | null> => {
  const textAt = async (path: string): Promise<string | null> => {
    const bytes = await bytesOf(repository, `${base}:./${path}`);
    return bytes === null ? null : new TextDecoder().decode(bytes);
  };
  const config = parseConfig(await textAt('emend.yaml'));
  return config.ok && config.value.approvers !== null ? textAt(config.value.approvers) : null;
};
