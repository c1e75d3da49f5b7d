/**
 * Histories of real runs. Each is replayed at once against today's workflow; with EMEND_RECORD_HISTORIES=1 those that are not kept yet
 * are written to test/histories/ (kept ones are never written again: they are what a deploy must not break).
 */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { expect } from '@jest/globals';
import { connectClient } from '../../src/temporal/connection.js';
import { replay } from '../support/replay.js';
import { currentRules } from '../../src/shared/rules.js';
import type { Scene } from './support.js';

interface Started {
  readonly input: { readonly payloads: readonly { readonly data: string }[] };
}
interface Events {
  readonly events: readonly {
    readonly workflowExecutionStartedEventAttributes?: Started;
    readonly startChildWorkflowExecutionInitiatedEventAttributes?: Started;
  }[];
}
/** Of the run, and of the runs that it started. */
const inputsIn = ({ events }: Events): readonly unknown[] =>
  events
    .map(
      (event) =>
        event.workflowExecutionStartedEventAttributes ?? event.startChildWorkflowExecutionInitiatedEventAttributes,
    )
    .flatMap((started) => started?.input.payloads ?? [])
    .map(({ data }) => JSON.parse(Buffer.from(data, 'base64').toString()) as unknown);

export async function check(s: Scene, workflowId: string, name: string): Promise<void> {
  const connected = await connectClient({ env: s.env, home: s.home, connect_ms: 5000 });
  try {
    const history = await connected.client.workflow.getHandle(workflowId).fetchHistory();
    const json = historyToJSON(history);
    const kept = join(process.cwd(), 'test/histories', `${name}.json`);
    if (process.env.EMEND_RECORD_HISTORIES !== undefined && !existsSync(kept)) {
      // Stack traces name the machine's folders.
      writeFileSync(kept, json.replaceAll(process.cwd(), '/emend'));
    }
    await replay(JSON.parse(json), name);
    for (const input of inputsIn(JSON.parse(json) as Events)) expect(input).toMatchObject({ rules: currentRules() });
    // Guarantee: no content and no secret in a history.
    expect(json).not.toContain(Buffer.from('const a = 2').toString('base64').slice(0, 12));
    expect(json).not.toContain('test-key-that-must-not-leak');
    expect(Buffer.from(json).includes('test-key')).toBe(false);
  } finally {
    await connected.close();
  }
}
