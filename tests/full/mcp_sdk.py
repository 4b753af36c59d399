"""Lists and calls tools by the official Python SDK, which also checks answers against the schemas of their tools. Run by
tests/full/mcp_clients with the Python that has the SDK: JSON in by standard input, JSON out by standard output."""

import asyncio
import json
import sys

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client


def transport_of(asked, http_client):
    if "url" in asked:
        return streamable_http_client(asked["url"], http_client=http_client)
    return StdioServerParameters(command=asked["command"][0], args=asked["command"][1:], env=asked["environment"])


async def tools_of(client):
    names, cursor = [], None
    while True:
        page = await client.list_tools(cursor=cursor)
        names += [tool.name for tool in page.tools]
        cursor = page.next_cursor
        if cursor is None:
            return names


async def main():
    asked = json.load(sys.stdin)
    async with httpx2.AsyncClient(headers=asked.get("headers"), timeout=asked["timeout"]) as http_client:
        async with Client(transport_of(asked, http_client), mode=asked["mode"]) as client:
            told = {"version": client.protocol_version, "tools": await tools_of(client), "answers": []}
            for name, arguments in asked["calls"]:
                result = await client.call_tool(name, arguments)
                told["answers"].append({"isError": result.is_error, "structuredContent": result.structured_content})
            told["resources"] = len((await client.list_resources()).resources)
            told["prompts"] = len((await client.list_prompts()).prompts)
    json.dump(told, sys.stdout)


asyncio.run(main())
