/**
 * Histories of real runs. Each is replayed at once against today's workflow (but by `npm test`, where test/workflows/replay.test.ts replays
 * the kept one of its kind, as a worker of Temporal's costs seconds to load); with EMEND_RECORD_HISTORIES=1 those that are not kept yet
 * are written to test/histories/ (kept ones are never written again: they are what a deploy must not break).
 */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import type { PayloadCodec } from '@temporalio/common';
import { expect } from '@jest/globals';
import { connectClient, type ClientConnection } from '../../src/temporal/connection.js';
import { currentRules } from '../../src/shared/rules.js';
import type { Scene } from './support.js';

interface Started {
  readonly input: { readonly payloads: readonly { readonly data: string }[] };
}
interface Handed {
  readonly setup?: object;
  readonly carried?: { readonly state: { readonly input: object } };
}
interface Events {
  readonly events: readonly {
    readonly workflowExecutionStartedEventAttributes?: Started;
    readonly startChildWorkflowExecutionInitiatedEventAttributes?: Started;
    readonly activityTaskCompletedEventAttributes?: {
      readonly result: { readonly payloads: readonly { readonly data: string }[] };
    };
    readonly activityTaskFailedEventAttributes?: unknown;
  }[];
}
const handedIn = ({ data }: { readonly data: string }): Handed =>
  JSON.parse(Buffer.from(data, 'base64').toString()) as Handed;
/** What the run and the runs that it started go by: from a plan, from the run before, or from the first activity. */
const setupsIn = ({ events }: Events): readonly unknown[] =>
  events
    .flatMap((event) => [
      ...(event.workflowExecutionStartedEventAttributes?.input.payloads ?? []),
      ...(event.startChildWorkflowExecutionInitiatedEventAttributes?.input.payloads ?? []),
      ...(event.activityTaskCompletedEventAttributes?.result.payloads ?? []),
    ])
    .map(handedIn)
    .flatMap(({ setup, carried }) => setup ?? carried?.state.input ?? []);

interface JsonPayload {
  readonly metadata: Readonly<Record<string, string>>;
  readonly data: string;
}
const isPayload = (value: object): value is JsonPayload => 'metadata' in value && 'data' in value;

/** As its worker reads it: what lies in the blob store (a long input) is put in, so that a kept history stands alone. */
async function whole(value: unknown, codec: PayloadCodec): Promise<unknown> {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return Promise.all(value.map((item) => whole(item, codec)));
  if (!isPayload(value)) {
    const entries = Object.entries(value).map(
      async ([name, item]) => [name, await whole(item, codec)] as const,
    );
    return Object.fromEntries(await Promise.all(entries));
  }
  const bytes = (text: string): Buffer => Buffer.from(text, 'base64');
  const base64 = (data: Uint8Array | null | undefined): string =>
    Buffer.from(data ?? []).toString('base64');
  const metadata = Object.fromEntries(
    Object.entries(value.metadata).map(([name, text]) => [name, bytes(text)]),
  );
  const [read] = await codec.decode([{ metadata, data: bytes(value.data) }]);
  const told = Object.entries(read?.metadata ?? {}).map(([name, data]) => [name, base64(data)]);
  return { metadata: Object.fromEntries(told) as Record<string, string>, data: base64(read?.data) };
}

/** `json` as the server has it, `read` as a worker reads it. */
export async function historyOf({ client }: ClientConnection, workflowId: string, runId?: string) {
  const json = historyToJSON(await client.workflow.getHandle(workflowId, runId).fetchHistory());
  const [codec] = client.options.loadedDataConverter.payloadCodecs;
  if (codec === undefined) throw new Error('no codec');
  return { json, read: (await whole(JSON.parse(json), codec)) as Events };
}

export async function check(s: Scene, workflowId: string, name: string): Promise<void> {
  const connected = await connectClient({ env: s.env, home: s.home, connect_ms: 5000 });
  try {
    const { json, read } = await historyOf(connected, workflowId);
    const kept = join(process.cwd(), 'test/histories', `${name}.json`);
    if (process.env.EMEND_RECORD_HISTORIES !== undefined && !existsSync(kept)) {
      // Stack traces name the machine's folders.
      writeFileSync(kept, `${JSON.stringify(read, null, 2)}\n`.replaceAll(process.cwd(), '/emend'));
    }
    if (process.env.EMEND_SHORT !== '1')
      await (await import('../support/replay.js')).replay(read, name);
    const setups = setupsIn(read);
    expect(setups.length).toBeGreaterThan(0);
    for (const setup of setups) expect(setup).toMatchObject({ rules: currentRules() });
    // Guarantee: no content and no secret in a history.
    expect(json).not.toContain(Buffer.from('const a = 2').toString('base64').slice(0, 12));
    expect(json).not.toContain('test-key-that-must-not-leak');
    expect(Buffer.from(json).includes('test-key')).toBe(false);
  } finally {
    await connected.close();
  }
}
