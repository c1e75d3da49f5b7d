/** The configuration of a Temporal server on PostgreSQL, as its module's `config/development-postgres12.yaml`, on ports of our own. */
import { DATABASE_USER } from './postgres.js';

export const SERVICES = ['frontend', 'history', 'matching', 'worker'];

/** JSON, which is YAML. `tls`: paths of a CA and of a certificate and key for servers and clients; the frontend then asks for both sides'. */
export const serverConfig = ({ postgresPort, password, ports, tls = null }) => {
  const store = (databaseName, maxConns) => ({
    sql: {
      pluginName: 'postgres12',
      databaseName,
      connectAddr: `127.0.0.1:${postgresPort}`,
      connectProtocol: 'tcp',
      user: DATABASE_USER,
      password,
      maxConns,
      maxIdleConns: maxConns,
      maxConnLifetime: '1h',
    },
  });
  const rpc = (service) => ({
    rpc: { grpcPort: ports[service].grpc, membershipPort: ports[service].membership, bindOnLocalHost: true },
  });
  return {
    log: { stdout: true, level: 'warn' },
    persistence: {
      defaultStore: 'default',
      visibilityStore: 'visibility',
      numHistoryShards: 4,
      datastores: { default: store('temporal', 20), visibility: store('temporal_visibility', 10) },
    },
    global: {
      membership: { maxJoinDuration: '30s', broadcastAddress: '127.0.0.1' },
      ...(tls === null ? {} : { tls: tlsConfig(tls) }),
    },
    services: Object.fromEntries(SERVICES.map((service) => [service, rpc(service)])),
    clusterMetadata: {
      enableGlobalNamespace: false,
      failoverVersionIncrement: 10,
      masterClusterName: 'active',
      currentClusterName: 'active',
      clusterInformation: {
        active: {
          enabled: true,
          initialFailoverVersion: 1,
          rpcName: 'frontend',
          rpcAddress: `127.0.0.1:${ports.frontend.grpc}`,
        },
      },
    },
    dcRedirectionPolicy: { policy: 'noop' },
  };
};

/** Clients must show a certificate of the CA; so must the server's own system worker, which is a client of the frontend, too. */
const tlsConfig = ({ ca, cert, key, serverName }) => ({
  frontend: {
    server: { certFile: cert, keyFile: key, clientCaFiles: [ca], requireClientAuth: true },
    client: { serverName, rootCaFiles: [ca] },
  },
  systemWorker: { certFile: cert, keyFile: key, client: { serverName, rootCaFiles: [ca] } },
});
