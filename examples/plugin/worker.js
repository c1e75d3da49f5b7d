// @ts-check
/**
 * Your worker with two plugins: Emend's, and OpenTelemetry's, which traces your workflows and those of Emend. It starts one workflow, prints
 * the spans and ends. Set TEMPORAL_ADDRESS and ANTHROPIC_API_KEY.
 *
 *     node worker.js PATH_OF_A_REPOSITORY
 */
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { Resource } from '@opentelemetry/resources';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { Client, Connection } from '@temporalio/client';
import { OpenTelemetryPlugin } from '@temporalio/interceptors-opentelemetry';
import { NativeConnection, Worker } from '@temporalio/worker';
import { EmendPlugin } from 'emend/worker';

const [workspace = '.'] = process.argv.slice(2);
const address = process.env.TEMPORAL_ADDRESS;
if (address === undefined) throw new Error('Set TEMPORAL_ADDRESS: there is no default server.');

// In production an exporter that sends spans to your collector.
const spans = new InMemorySpanExporter();
const resource = new Resource({ 'service.name': 'greetings' });
const spanProcessor = new SimpleSpanProcessor(spans);
const provider = new BasicTracerProvider({ resource, spanProcessors: [spanProcessor] });
const tracer = provider.getTracer('greetings');
const tracing = new OpenTelemetryPlugin({ resource, spanProcessor, tracer });
const clientConnection = await Connection.connect({ address });
const client = new Client({ connection: clientConnection, plugins: [tracing] });

const taskQueue = 'greetings';
const connection = await NativeConnection.connect({ address });
const worker = await Worker.create({
  connection,
  taskQueue,
  workflowsPath: fileURLToPath(new URL('workflows.js', import.meta.url)),
  plugins: [new EmendPlugin({ client }), tracing],
});
const outcome = await worker.runUntil(
  client.workflow.execute('greet', {
    taskQueue,
    workflowId: `greet-${randomUUID()}`,
    args: [workspace],
  }),
);
console.log(outcome);
for (const { name } of spans.getFinishedSpans()) console.log(name);
await connection.close();
await clientConnection.close();
