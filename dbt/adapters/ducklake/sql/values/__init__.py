"""Parsed SQL statements as frozen values."""

from __future__ import annotations

from .constants import CastTo, Constant, CurrentTime, Literal
from .definitions import (
    AddColumns,
    Alteration,
    AlterTable,
    ColumnDefinition,
    Comment,
    CreateFunction,
    CreateSchema,
    CreateTable,
    CreateTemporaryView,
    CreateView,
    DropColumns,
    DropFunction,
    DropMacro,
    DropRelation,
    DropSchema,
    PartitionKey,
    RenameColumn,
    RenameRelation,
    SetComment,
    SetDefault,
    SetNullable,
    SetPartitioning,
    SetProperties,
    SetSorting,
    SetType,
    SortKey,
)
from .rows import Assignment, Delete, Insert, Merge, MergeClause, PartitionTarget, Truncate, Update
from .session import (
    Argument,
    Begin,
    Call,
    Checkpoint,
    Commit,
    Describe,
    DescribeDetail,
    DescribeHistory,
    Foreign,
    PassThrough,
    Query,
    Rollback,
    Show,
    ShowCreate,
    ShowProperties,
    Use,
)
from .text import CURRENT_PLACE, VIRTUAL_COLUMNS, FunctionCall, Name, OuterStar, Qualifier, Reference, Sql, Star, TimeTravel

Statement = (
    CreateSchema
    | DropSchema
    | CreateTable
    | CreateTemporaryView
    | CreateView
    | DropRelation
    | CreateFunction
    | DropFunction
    | DropMacro
    | RenameRelation
    | AlterTable
    | SetProperties
    | Comment
    | Insert
    | Update
    | Delete
    | Truncate
    | Merge
    | Begin
    | Commit
    | Rollback
    | Use
    | Checkpoint
    | Call
    | Show
    | ShowCreate
    | ShowProperties
    | Describe
    | DescribeHistory
    | DescribeDetail
    | Query
    | PassThrough
    | Foreign
)

__all__ = [
    "CURRENT_PLACE",
    "VIRTUAL_COLUMNS",
    "AddColumns",
    "AlterTable",
    "Alteration",
    "Argument",
    "Assignment",
    "Begin",
    "Call",
    "CastTo",
    "Checkpoint",
    "ColumnDefinition",
    "Comment",
    "Commit",
    "Constant",
    "CreateFunction",
    "CreateSchema",
    "CreateTable",
    "CreateTemporaryView",
    "CreateView",
    "CurrentTime",
    "Delete",
    "Describe",
    "DescribeDetail",
    "DescribeHistory",
    "DropColumns",
    "DropFunction",
    "DropMacro",
    "DropRelation",
    "DropSchema",
    "Foreign",
    "FunctionCall",
    "Insert",
    "Literal",
    "Merge",
    "MergeClause",
    "Name",
    "OuterStar",
    "PartitionKey",
    "PartitionTarget",
    "PassThrough",
    "Qualifier",
    "Query",
    "Reference",
    "RenameColumn",
    "RenameRelation",
    "Rollback",
    "SetComment",
    "SetDefault",
    "SetNullable",
    "SetPartitioning",
    "SetProperties",
    "SetSorting",
    "SetType",
    "Show",
    "ShowCreate",
    "ShowProperties",
    "SortKey",
    "Sql",
    "Star",
    "Statement",
    "TimeTravel",
    "Truncate",
    "Update",
    "Use",
]
