"""What a server answers, in the words of OpenAPI: its own resources, not all of Iceberg's."""

from __future__ import annotations

from typing import Any

__all__ = ["DOCUMENT"]

_Schema = dict[str, Any]


def _object(required: dict[str, _Schema], **more: _Schema) -> _Schema:
    return {"type": "object", "required": [*required], "properties": {**required, **more}}


def _list(of: _Schema) -> _Schema:
    return {"type": "array", "items": of}


def _ref(name: str) -> _Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _json(schema: _Schema) -> _Schema:
    return {"content": {"application/json": {"schema": schema}}}


_TEXT: _Schema = {"type": "string"}
_NUMBER: _Schema = {"type": "integer"}
_TEXTS = {"type": "object", "additionalProperties": _TEXT}
_NAMES = _list(_TEXT)
_VALUE: _Schema = {"anyOf": [_NUMBER, _TEXT, {"type": "number"}, {"type": "boolean"}]}
_TERM: _Schema = {"anyOf": [{"enum": ["id", "text", "real"]}, _TEXT]}
_BOOLEAN: _Schema = {"type": "boolean"}


def _condition(kinds: list[str], **parts: _Schema) -> _Schema:
    return _object({"type": {"enum": kinds}, **parts})


_FILTER = {
    "anyOf": [
        _BOOLEAN,
        _condition(["is-null", "not-null", "is-nan", "not-nan"], term=_TERM),
        _condition(["eq", "not-eq", "lt", "lt-eq", "gt", "gt-eq"], term=_TERM, value=_VALUE),
        _condition(["starts-with", "not-starts-with"], term=_TERM, value=_TEXT),
        _condition(["in", "not-in"], term=_TERM, values=_list(_VALUE)),
        _condition(["and", "or"], left=_ref("Filter"), right=_ref("Filter")),
        _condition(["not"], child=_ref("Filter")),
    ]
}
_SNAPSHOT = _object(
    {"snapshot-id": _NUMBER, "timestamp-ms": _NUMBER, "manifest-list": _TEXT, "summary": _TEXTS},
    **{"sequence-number": _NUMBER, "schema-id": _NUMBER},
)


def _update(action: str, **parts: _Schema) -> _Schema:
    named = {name.replace("_", "-"): part for name, part in parts.items()}
    return _object({"action": {"enum": [action]}, **named})


_PROPERTIES = {
    "type": "object",
    "properties": {"comment": _TEXT, "py-io-impl": _TEXT, "s3.endpoint": _TEXT, "owner": _TEXT},
    "additionalProperties": _TEXT,
}
_UPDATE = {
    "anyOf": [
        _update("set-properties", updates=_PROPERTIES),
        _update("remove-properties", removals=_NAMES),
        _update("set-location", location=_TEXT),
        _update("add-snapshot", snapshot=_SNAPSHOT),
        _update("remove-snapshots", snapshot_ids=_list(_NUMBER)),
        _update("set-current-schema", schema_id=_NUMBER),
        _update("upgrade-format-version", format_version=_NUMBER),
        _update("remove-snapshot-ref", ref_name=_TEXT),
    ]
}
_REQUIREMENT = {
    "anyOf": [
        _object({"type": {"enum": ["assert-create"]}}),
        _object({"type": {"enum": ["assert-current-schema-id"]}, "current-schema-id": _NUMBER}),
        _object({"type": {"enum": ["assert-ref-snapshot-id"]}, "ref": _TEXT}),
    ]
}
_TABLE = _object({"metadata-location": _TEXT, "metadata": {"type": "object"}}, config=_TEXTS)
_TASK = _object(
    {
        "data-file": _object(
            {
                "content": {"enum": ["data"]},
                "file-path": _TEXT,
                "file-format": _TEXT,
                "spec-id": _NUMBER,
                "record-count": _NUMBER,
                "file-size-in-bytes": _NUMBER,
            },
            partition={"type": "array"},
        )
    },
    **{"delete-file-references": _list(_NUMBER), "residual-filter": {}},
)
_TASKS = {"file-scan-tasks": _list(_TASK)}
_PAGES = {"plan-tasks": _NAMES, "delete-files": _list({"type": "object"})}
_ERROR = _object({"error": _object({"message": _TEXT, "type": _TEXT, "code": _NUMBER})})
_SCAN = {
    "type": "object",
    "properties": {
        "filter": _ref("Filter"),
        "select": _NAMES,
        "stats-fields": _NAMES,
        "snapshot-id": _NUMBER,
        "start-snapshot-id": _NUMBER,
        "end-snapshot-id": _NUMBER,
        "case-sensitive": _BOOLEAN,
        "use-snapshot-schema": _BOOLEAN,
    },
}


def _name(name: str, known: str) -> _Schema:
    schema = {"anyOf": [{"enum": [known]}, {"type": "string", "minLength": 1}]}
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _operation(answer: _Schema | None, body: _Schema | None = None) -> _Schema:
    done = {"204": {"description": "Done."}}
    if answer is not None:
        done = {"200": {"description": "The answer.", **_json(answer)}}
    refused = {
        status: {"description": "Refused.", **_json(_ERROR)}
        for status in ("400", "404", "405", "406", "409")
    }
    made: _Schema = {"responses": {**done, **refused}}
    return made if body is None else {**made, "requestBody": {"required": True, **_json(body)}}


_PARENT = {"name": "parent", "in": "query", "schema": _TEXT}
_NAMESPACE = "/v1/namespaces/{namespace}"
_OF_NAMESPACE = [_name("namespace", "db")]
_OF_TABLE = [*_OF_NAMESPACE, _name("table", "t")]
_ONE = f"{_NAMESPACE}/tables/{{table}}"

DOCUMENT: _Schema = {
    "openapi": "3.0.3",
    "info": {"title": "lakesieve serve", "version": "1"},
    "components": {"schemas": {"Filter": _FILTER}},
    "paths": {
        "/healthz": {"get": _operation(_object({"status": _TEXT}))},
        "/v1/config": {
            "get": _operation(_object({"defaults": _TEXTS, "overrides": _TEXTS}, endpoints=_NAMES))
        },
        "/v1/namespaces": {
            "get": {**_operation(_object({"namespaces": _list(_NAMES)})), "parameters": [_PARENT]}
        },
        _NAMESPACE: {
            "parameters": _OF_NAMESPACE,
            "get": _operation(_object({"namespace": _NAMES, "properties": _TEXTS})),
        },
        f"{_NAMESPACE}/tables": {
            "parameters": _OF_NAMESPACE,
            "get": _operation(
                _object({"identifiers": _list(_object({"namespace": _NAMES, "name": _TEXT}))})
            ),
        },
        _ONE: {
            "parameters": _OF_TABLE,
            "get": _operation(_TABLE),
            "post": _operation(
                _TABLE, _object({"updates": _list(_UPDATE), "requirements": _list(_REQUIREMENT)})
            ),
        },
        f"{_ONE}/plan": {
            "parameters": _OF_TABLE,
            "post": _operation(
                _object({"status": {"enum": ["completed"]}, "plan-id": _TEXT, **_TASKS}, **_PAGES),
                _SCAN,
            ),
        },
        f"{_ONE}/plan/{{plan}}": {
            "parameters": [*_OF_TABLE, _name("plan", "5")],
            "delete": _operation(None),
        },
        f"{_ONE}/tasks": {
            "parameters": _OF_TABLE,
            "post": _operation(_object(_TASKS, **_PAGES), _object({"plan-task": _TEXT})),
        },
    },
}
"""Paths, bodies and answers of a server that has its own catalog."""
