// Asks the server, as the command line would: an operation and its parameters; `data` of its envelope comes back.

import { OFFLINE } from "../offline/mode";
import { recordedEnvelope, wholeLines } from "../offline/recorded";
import { parseExact } from "./exact_json";

export type Parameters = Record<string, unknown>;

export class AskError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly hint: string,
    readonly status: number,
  ) {
    super(message);
  }
}

export interface Answer<T> {
  data: T;
  warnings: string[];
  next: string[];
}

export async function ask<T>(operation: string, parameters: Parameters = {}, signal?: AbortSignal): Promise<Answer<T>> {
  const envelope = OFFLINE ? await recordedEnvelope(operation, parameters) : await sentEnvelope(operation, parameters, signal);
  if (envelope["error"] !== undefined) throw errorOf(envelope, 0);
  return { data: envelope["data"] as T, warnings: texts(envelope["warnings"]), next: texts(envelope["next"]) };
}

async function sentEnvelope(operation: string, parameters: Parameters, signal?: AbortSignal): Promise<Record<string, unknown>> {
  const response = await send(operation, parameters, signal);
  const envelope = envelopeOf(await response.text(), response.status);
  if (!response.ok) throw errorOf(envelope, response.status);
  return envelope;
}

/** A text that is no JSON. */
export async function askText(operation: string, parameters: Parameters, signal?: AbortSignal): Promise<string> {
  if (OFFLINE) return wholeLines((await ask<string>(operation, parameters)).data);
  return new TextDecoder().decode(await askBytes(operation, parameters, signal));
}

/** The bytes of an answer that is no JSON. */
export async function askBytes(operation: string, parameters: Parameters, signal?: AbortSignal): Promise<ArrayBuffer> {
  const response = await reach(`${operation}?${query(parameters)}`, {}, signal);
  if (!response.ok) throw errorOf(envelopeOf(await response.text(), response.status), response.status);
  return response.arrayBuffer();
}

function query(parameters: Parameters): string {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters))
    for (const one of Array.isArray(value) ? value : [value]) words.append(name, String(one));
  return words.toString();
}

function send(operation: string, parameters: Parameters, signal?: AbortSignal): Promise<Response> {
  return reach(operation, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(parameters) }, signal);
}

/** A browser says "Failed to fetch" when nobody answers; a reader wants to know what to do. */
async function reach(address: string, options: RequestInit, signal?: AbortSignal): Promise<Response> {
  try {
    return await fetch(`api/v1/${address}`, { ...options, signal: signal ?? null, credentials: "same-origin" });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new AskError("unavailable", "The server does not answer.", "Is neurolens serve still running? The page tries again when you ask.", 0);
  }
}

function envelopeOf(text: string, status: number): Record<string, unknown> {
  try {
    const parsed = parseExact(text);
    if (typeof parsed === "object" && parsed !== null) return parsed as Record<string, unknown>;
  } catch {
    // not from our server: a proxy may have answered
  }
  throw new AskError("unavailable", `The answer is not one of NeuroLens (status ${status}).`, "Is there a proxy in between?", status);
}

function errorOf(envelope: Record<string, unknown>, status: number): AskError {
  const error = (envelope["error"] ?? {}) as Record<string, unknown>;
  return new AskError(String(error["code"] ?? "unknown"), String(error["message"] ?? `status ${status}`), String(error["hint"] ?? ""), status);
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === "string") : [];
}

export interface Caller {
  name: string;
  project: string;
  may: "read" | "write" | "admin";
  can_sign_out: boolean;
}

/** Who asks, and what they may do. */
export async function askCaller(signal?: AbortSignal): Promise<Caller> {
  if (OFFLINE) return { name: "", project: "", may: "read", can_sign_out: false };
  const response = await reach("caller", {}, signal);
  const answer = envelopeOf(await response.text(), response.status);
  if (!response.ok) throw errorOf(answer, response.status);
  return answer as unknown as Caller;
}
