/**
 * corpuscope in Pi: starts the MCP server of a corpus and offers its tools as Pi's own.
 *
 * The server is COMMAND, or what listens on the Unix socket in CORPUSCOPE_SOCKET. It speaks JSON-RPC, one message a line.
 */
import { spawn } from "node:child_process";
import { connect } from "node:net";
import type { Readable, Writable } from "node:stream";

const COMMAND: string[] = [];
/** Before the names of the tools, so that Pi keeps its own bash and read. */
const PREFIX = "";
const VERSION = "2025-06-18";

type Message = { id?: number; method?: string; result?: any; error?: { message: string }; params?: any };
type Waiting = { resolve: (result: any) => void; reject: (error: Error) => void };

class Server {
	private waiting = new Map<number, Waiting>();
	private count = 0;
	private gone: Error | undefined;

	constructor(
		private output: Writable,
		input: Readable,
		readonly close: () => void,
	) {
		// Not node:readline: it also breaks lines at U+2028, which documents hold.
		let rest = "";
		input.setEncoding("utf8");
		input.on("data", (chunk: string) => {
			const lines = (rest + chunk).split("\n");
			rest = lines.pop()!;
			for (const line of lines) this.receive(line);
		});
		input.on("close", () => this.end(new Error("the corpuscope server has ended")));
		output.on("error", (error) => this.end(error));
	}

	end(error: Error) {
		this.gone = error;
		for (const call of this.waiting.values()) call.reject(error);
		this.waiting.clear();
	}

	request(method: string, params: object, signal?: AbortSignal): Promise<any> {
		if (this.gone) return Promise.reject(this.gone);
		const id = ++this.count;
		return new Promise((resolve, reject) => {
			this.waiting.set(id, { resolve, reject });
			signal?.addEventListener("abort", () => {
				this.notify("notifications/cancelled", { requestId: id });
				this.waiting.delete(id);
				reject(new Error("cancelled"));
			});
			this.send({ jsonrpc: "2.0", id, method, params });
		});
	}

	notify(method: string, params: object = {}) {
		this.send({ jsonrpc: "2.0", method, params });
	}

	private send(message: object) {
		this.output.write(`${JSON.stringify(message)}\n`);
	}

	private receive(line: string) {
		let message: Message;
		try {
			message = JSON.parse(line);
		} catch {
			return;
		}
		const call = message.id === undefined ? undefined : this.waiting.get(message.id);
		if (!call || message.method) return;
		this.waiting.delete(message.id!);
		if (message.error) call.reject(new Error(message.error.message));
		else call.resolve(message.result);
	}
}

function start(): Server {
	const socket = process.env.CORPUSCOPE_SOCKET;
	if (socket) {
		const stream = connect(socket);
		const server = new Server(stream, stream, () => stream.end());
		stream.on("error", (error) => server.end(error));
		return server;
	}
	const child = spawn(COMMAND[0], COMMAND.slice(1), { stdio: ["pipe", "pipe", "ignore"] });
	const server = new Server(child.stdin, child.stdout, () => child.stdin.end());
	child.on("error", (error) => server.end(error));
	return server;
}

export default async function (pi: any) {
	const server = start();
	const { instructions } = await server.request("initialize", {
		protocolVersion: VERSION,
		capabilities: {},
		clientInfo: { name: "pi", version: "1" },
	});
	server.notify("notifications/initialized");
	const { tools } = await server.request("tools/list", {});
	for (const tool of tools) {
		pi.registerTool({
			name: PREFIX + tool.name,
			label: PREFIX + tool.name,
			description: tool.description,
			parameters: tool.inputSchema,
			async execute(id: string, params: object, signal?: AbortSignal) {
				const call = { name: tool.name, arguments: params, _meta: { "corpuscope/callId": id } };
				const result = await server.request("tools/call", call, signal);
				const text = result.content.map((part: any) => part.text ?? "").join("\n");
				if (result.isError) throw new Error(text);
				return { content: [{ type: "text", text }], details: result.structuredContent ?? {} };
			},
		});
	}
	if (instructions) {
		const names = tools.map((tool: any) => `${tool.name} is ${PREFIX}${tool.name}`).join(", ");
		const told = `\n\n# Tools for the document collection\n\nTheir names: ${names}.\n\n${instructions}`;
		pi.on("before_agent_start", async (event: any) => ({ systemPrompt: event.systemPrompt + told }));
	}
	pi.on("session_shutdown", async () => server.close());
}
