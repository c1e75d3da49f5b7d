/** Ends the server that global-setup.js started, by its own process id. */
import { rm } from 'node:fs/promises';

export default async function tearDown() {
  const running = globalThis.emendTestServer;
  if (running === undefined) return;
  globalThis.emendTestServer = undefined;
  await running.server.stop();
  await rm(running.home, { recursive: true, force: true });
}
