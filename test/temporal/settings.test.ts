import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { TIMINGS } from '../../src/shared/limits.js';
import { ProblemError } from '../../src/shared/problems.js';
import { ownProcess } from '../../src/system/process.js';
import { realSys } from '../../src/system/sys.js';
import { replaceRecord } from '../../src/temporal/dev-record.js';
import { resolveTimings, serverSettings } from '../../src/temporal/settings.js';

test('while a dev server of this home starts nobody takes what answers at the usual port for another one', async () => {
  const home = mkdtempSync(join(tmpdir(), 'emend-settings-'));
  const env = { TEMPORAL_CONFIG_FILE: 'none' };
  try {
    expect(await serverSettings(env, home)).toMatchObject({
      address: 'localhost:7233',
      from: 'default',
    });
    const process = await ownProcess(realSys);
    const record = {
      process,
      owner: process,
      address: '127.0.0.1:7233',
      hiddenUi: null,
      uiUrl: null,
    };
    await replaceRecord(home, { ...record, state: 'starting' });
    await expect(serverSettings(env, home)).rejects.toMatchObject({
      problem: {
        code: 'no_server',
        message: expect.stringContaining('is starting a dev server for this home'),
      },
    });
    const configured = { ...env, TEMPORAL_ADDRESS: 'localhost:7233' };
    expect(await serverSettings(configured, home)).toMatchObject({ from: 'configuration' });
    await replaceRecord(home, { ...record, state: 'serving' });
    expect(await serverSettings(env, home)).toMatchObject({ from: 'dev server' });
  } finally {
    rmSync(home, { recursive: true });
  }
});

describe('resolveTimings', () => {
  test('an empty environment gives every default', () => {
    const defaults = Object.fromEntries(
      Object.entries(TIMINGS).map(([name, spec]) => [name, spec.default]),
    );
    expect(resolveTimings({})).toEqual(defaults);
  });

  test('EMEND_<NAME> in upper case overrides one; blank counts as unset', () => {
    const timings = resolveTimings({ EMEND_CALLOWNER_MS: ' 1500 ', EMEND_CONNECT_MS: ' ' });
    expect(timings.callOwner_ms).toBe(1500);
    expect(timings.connect_ms).toBe(TIMINGS.connect_ms.default);
  });

  test.each(['99', '600001', '-1', '1.5', '1e4', 'soon', '0x10'])(
    'refuses %s and names variable, bounds and unit',
    (text) => {
      const attempt = (): unknown => resolveTimings({ EMEND_CONNECT_MS: text });
      expect(attempt).toThrow(ProblemError);
      expect(attempt).toThrow(/EMEND_CONNECT_MS .*from 100 to 600000 \(ms\)/);
    },
  );

  test('a rate may be less than one', () => {
    expect(resolveTimings({ EMEND_MODELCALLS_PERSECOND: '0.2' }).modelCalls_perSecond).toBe(0.2);
    expect(() => resolveTimings({ EMEND_MODELCALLS_PERSECOND: '0.001' })).toThrow(
      /expected a number from 0.01 to 10000/,
    );
  });

  test('the bounds themselves are allowed', () => {
    expect(resolveTimings({ EMEND_CONNECT_MS: '100' }).connect_ms).toBe(100);
    expect(resolveTimings({ EMEND_SHUTDOWNGRACE_MS: '0' }).shutdownGrace_ms).toBe(0);
  });
});
