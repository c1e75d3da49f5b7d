/** Carries the server from global set-up to tear-down: jest loads the two apart, so it hangs on `globalThis`. */
import type { DevServer } from '../../src/temporal/dev-server.js';

interface Running {
  readonly server: DevServer;
  readonly home: string;
}
const shared = globalThis as typeof globalThis & { emendTestServer?: { running: Running | null } };
export const testServer = (shared.emendTestServer ??= { running: null });
