/** What cannot be run here is at least read: the compose file, and the tables of docs/operations.md against the code. */
import { readFile } from 'node:fs/promises';
import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { TIMINGS } from '../../src/shared/limits.js';
import type { TimingName } from '../../src/shared/limits.js';
import { PINNED_CLI } from '../../src/temporal/cli-fetch.js';
import { MINIMUM_CLI } from '../../src/temporal/cli-version.js';
import { timingVariable } from '../../src/temporal/timings.js';

interface Service {
  readonly image?: string;
  readonly build?: { readonly dockerfile_inline: string };
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly ports?: readonly string[];
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly restart: string;
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
}
const file = (name: string): Promise<string> => readFile(new URL(`../../${name}`, import.meta.url), 'utf8');
const { services } = parse(await file('docker-compose.yml')) as { services: Record<string, Service> };
const operations = await file('docs/operations.md');

describe('docker-compose.yml', () => {
  test('has what the design names', () => {
    expect(Object.keys(services)).toEqual(['postgresql', 'schema', 'temporal', 'namespace', 'ui', 'worker']);
  });

  test.each(Object.entries(services))('%s: pinned, on the loopback address only, healthy or done', (_name, service) => {
    const bases = [...(service.build?.dockerfile_inline.matchAll(/^FROM (\S+)/gm) ?? [])].map((match) => match[1]);
    for (const image of service.image === undefined ? bases : [service.image]) expect(image).toMatch(/:\d+\.\d+/);
    expect(service.image === undefined).toBe(bases.length > 0);
    for (const port of service.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:/);
    const lasts = service.restart === 'unless-stopped';
    expect(service.healthcheck !== undefined).toBe(lasts);
  });

  test('who waits for another names a service that can fulfil it', () => {
    for (const { depends_on = {} } of Object.values(services)) {
      for (const [name, { condition }] of Object.entries(depends_on)) {
        const awaited = services[name];
        expect(condition).toBe(awaited?.healthcheck ? 'service_healthy' : 'service_completed_successfully');
      }
    }
  });

  test('the schema commands are those of `npm run test:cluster`, and the worker keeps the store in a volume', async () => {
    const [schema, tried] = [services.schema?.command?.[0] ?? '', await file('scripts/cluster/temporal.js')];
    for (const command of ['create', 'setup-schema', 'update-schema']) {
      expect(schema).toContain(`--db $$database ${command}`);
      expect(tried).toContain(`tool('${command}'`);
    }
    expect(schema).toContain('--schema-name postgresql/v12/$$schema');
    expect(tried).toContain('`postgresql/v12/${schema}`');
    expect(services.worker?.environment?.EMEND_STORE).toMatch(/^\/store\//);
    expect(services.worker?.volumes).toContain('store:/store');
  });
});

describe('docs/operations.md', () => {
  test.each(Object.keys(TIMINGS) as TimingName[])('%s stands with default, unit, bounds and meaning', (name) => {
    const { default: value, unit, min, max, what } = TIMINGS[name];
    expect(operations).toContain(`| \`${timingVariable(name)}\` | ${value} | ${unit} | ${min} | ${max} | ${what} |`);
  });

  test('has no setting that is gone', () => {
    const listed = [...operations.matchAll(/^\| `(EMEND_\w+)` \|/gm)].map((match) => match[1]);
    expect(listed).toHaveLength(Object.keys(TIMINGS).length);
  });

  test('names the versions that the code uses', () => {
    expect(operations).toContain(`\`temporal\` on \`PATH\`, ${MINIMUM_CLI} or newer`);
    expect(operations).toContain(`version ${PINNED_CLI} (`);
  });
});
