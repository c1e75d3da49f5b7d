import { rm } from 'node:fs/promises';
import { testServer } from './test-server.js';

export default async function tearDown(): Promise<void> {
  const running = testServer.running;
  if (!running) return;
  testServer.running = null;
  await running.server.stop();
  await rm(running.home, { recursive: true, force: true });
}
