import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { TIMINGS } from '../../src/shared/limits.js';
import { ProblemError } from '../../src/shared/problems.js';
import { ownProcess } from '../../src/system/process.js';
import { realSys } from '../../src/system/sys.js';
import { replaceRecord } from '../../src/temporal/dev-record.js';
import { configuredServer, resolveTimings, serverSettings } from '../../src/temporal/settings.js';

const home = mkdtempSync(join(tmpdir(), 'emend-settings-'));
afterAll(() => rmSync(home, { recursive: true }));
const NO_FILE = { TEMPORAL_CONFIG_FILE: 'none' };
const refused = (code: string, message: string) => ({
  problem: { code, message: expect.stringContaining(message) },
});

test('while a dev server of this home starts, only a server that is configured is used', async () => {
  const process = await ownProcess(realSys);
  await replaceRecord(home, {
    state: 'starting',
    process,
    owner: process,
    address: '127.0.0.1:7233',
    clusterId: null,
    hiddenUi: null,
  });
  await expect(serverSettings(NO_FILE, home)).rejects.toMatchObject(
    refused('no_server', 'is starting a dev server for this home'),
  );
  const configured = { ...NO_FILE, TEMPORAL_ADDRESS: 'localhost:7233' };
  expect(await serverSettings(configured, home)).toMatchObject({
    from: 'configuration',
    own: null,
  });
});

describe('the address of the server', () => {
  const elsewhere = join(home, 'elsewhere');
  const withFile = (text: string) => {
    const file = join(home, 'temporal.toml');
    writeFileSync(file, text);
    return { TEMPORAL_CONFIG_FILE: file };
  };

  test('has no default: without one, and without a dev server of this home, the message says what to type', async () => {
    const error = await serverSettings(NO_FILE, elsewhere).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      problem: {
        code: 'no_server',
        message: `No Temporal server is configured, and no dev server of this home (${elsewhere}) is running.`,
        next: 'Start one: emend dev. To use another server: export TEMPORAL_ADDRESS=HOST:PORT',
      },
    });
  });

  test('is that of TEMPORAL_ADDRESS, before that of a profile', async () => {
    const profile = withFile('[profile.default]\naddress = "profile.example:7233"\n');
    expect(await serverSettings(profile, elsewhere)).toMatchObject({
      address: 'profile.example:7233',
      from: 'configuration',
    });
    const both = { ...profile, TEMPORAL_ADDRESS: 'variable.example:7233' };
    expect(await serverSettings(both, elsewhere)).toMatchObject({
      address: 'variable.example:7233',
    });
  });

  test.each([
    ['no address', '[profile.default]\nnamespace = "mine"\n'],
    ['an empty address', '[profile.default]\naddress = ""\n'],
  ])('is not made up for a profile with %s', async (_, text) => {
    await expect(serverSettings(withFile(text), elsewhere)).rejects.toMatchObject(
      refused('no_server', 'No Temporal server is configured'),
    );
    expect(configuredServer(withFile(text))).toBeNull();
  });
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
