"""Parsed SQL statements as frozen values."""

from __future__ import annotations

from .constants import CastTo as CastTo
from .constants import Constant as Constant
from .constants import CurrentTime as CurrentTime
from .constants import Literal as Literal
from .definitions import AddColumns as AddColumns
from .definitions import Alteration as Alteration
from .definitions import AlterTable as AlterTable
from .definitions import ColumnDefinition as ColumnDefinition
from .definitions import Comment as Comment
from .definitions import CreateFunction as CreateFunction
from .definitions import CreateSchema as CreateSchema
from .definitions import CreateTable as CreateTable
from .definitions import CreateTemporaryView as CreateTemporaryView
from .definitions import CreateView as CreateView
from .definitions import DropColumns as DropColumns
from .definitions import DropFunction as DropFunction
from .definitions import DropMacro as DropMacro
from .definitions import DropRelation as DropRelation
from .definitions import DropSchema as DropSchema
from .definitions import PartitionKey as PartitionKey
from .definitions import RenameColumn as RenameColumn
from .definitions import RenameRelation as RenameRelation
from .definitions import SetComment as SetComment
from .definitions import SetDefault as SetDefault
from .definitions import SetNullable as SetNullable
from .definitions import SetPartitioning as SetPartitioning
from .definitions import SetProperties as SetProperties
from .definitions import SetSorting as SetSorting
from .definitions import SetType as SetType
from .definitions import SortKey as SortKey
from .rows import Assignment as Assignment
from .rows import Delete as Delete
from .rows import Insert as Insert
from .rows import Merge as Merge
from .rows import MergeClause as MergeClause
from .rows import PartitionTarget as PartitionTarget
from .rows import Truncate as Truncate
from .rows import Update as Update
from .session import Argument as Argument
from .session import Begin as Begin
from .session import Call as Call
from .session import Checkpoint as Checkpoint
from .session import Commit as Commit
from .session import Describe as Describe
from .session import DescribeDetail as DescribeDetail
from .session import DescribeHistory as DescribeHistory
from .session import Foreign as Foreign
from .session import PassThrough as PassThrough
from .session import Query as Query
from .session import Rollback as Rollback
from .session import Show as Show
from .session import ShowCreate as ShowCreate
from .session import ShowProperties as ShowProperties
from .session import Use as Use
from .text import CURRENT_PLACE as CURRENT_PLACE
from .text import VIRTUAL_COLUMNS as VIRTUAL_COLUMNS
from .text import FunctionCall as FunctionCall
from .text import Name as Name
from .text import OuterStar as OuterStar
from .text import Qualifier as Qualifier
from .text import Reference as Reference
from .text import Sql as Sql
from .text import Star as Star
from .text import TimeTravel as TimeTravel

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
